"""The names that a shared library takes from others: the undefined symbols of a 64-bit ELF file."""

import re
import struct
from collections.abc import Iterator
from pathlib import Path

_DYNAMIC_SYMBOLS = 11  # SHT_DYNSYM
_SECTION = struct.Struct("<IIQQQQIIQQ")  # name, type, flags, address, offset, size, link, info, alignment, size of an entry
_SYMBOL = struct.Struct("<IBBHQQ")  # name, info, other, section, value, size


def undefined_symbols(library: Path) -> Iterator[str]:
    """Yield the names, as the compiler has mangled them."""
    image = library.read_bytes()
    offset, size, count = *struct.unpack_from("<Q", image, 40), *struct.unpack_from("<HH", image, 58)
    sections = [_SECTION.unpack_from(image, offset + i * size) for i in range(count)]
    for section in sections:
        if section[1] == _DYNAMIC_SYMBOLS:
            names = sections[section[6]][4]
            for name, *_, defined_in, _, _ in _SYMBOL.iter_unpack(image[section[4] : section[4] + section[5]]):
                if name and defined_in == 0:
                    yield image[names + name : image.index(b"\0", names + name)].decode()


def qualified_name(symbol: str) -> str:
    """Return the name of a function of C++ with its namespaces, without its parameters; of an operator or another symbol an empty text."""
    mangled = re.match(r"_Z(?:N?K?)(?=\d)", symbol)
    parts, rest = [], symbol[mangled.end() :] if mangled else ""
    while length := re.match(r"\d+", rest):
        end = length.end() + int(length[0])
        parts.append(rest[length.end() : end])
        rest = rest[end:] if symbol.startswith("_ZN") else ""
    return "::".join(parts) if not symbol.startswith("_ZN") or rest.startswith("E") else ""
