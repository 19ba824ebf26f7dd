"""The undefined symbols of a 64-bit ELF file, which a shared library takes from others."""

import re
import struct
from collections.abc import Iterator
from pathlib import Path

_DYNAMIC_SYMBOLS = 11  # SHT_DYNSYM
_SECTION = struct.Struct("<IIQQQQIIQQ")  # name, type, flags, address, offset, size, link, info, alignment, size of an entry
_SYMBOL = struct.Struct("<IBBHQQ")  # name, info, other, section, value, size
_WEAK = 2  # STB_WEAK, the binding in the upper half of info


def undefined_symbols(library: Path, *, weak: bool = True) -> Iterator[str]:
    """Yield the names, as the compiler has mangled them, with or without those that may be absent."""
    image = library.read_bytes()
    offset, size, count = *struct.unpack_from("<Q", image, 40), *struct.unpack_from("<HH", image, 58)
    sections = [_SECTION.unpack_from(image, offset + i * size) for i in range(count)]
    for section in sections:
        if section[1] == _DYNAMIC_SYMBOLS:
            names = sections[section[6]][4]
            for name, info, _, defined_in, _, _ in _SYMBOL.iter_unpack(image[section[4] : section[4] + section[5]]):
                if name and defined_in == 0 and (weak or info >> 4 != _WEAK):
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


def is_of_torch_npu(symbol: str) -> bool:
    """Return whether a symbol is torch_npu's: in one of its namespaces or, as op-plugin's are, in none."""
    name = qualified_name(symbol)
    of_no_namespace = bool(name) and "::" not in name and not name.startswith("THP")  # names that begin with THP are Python's
    return of_no_namespace or re.search(r"(?<!\d)(6at_npu|7c10_npu|9torch_npu)", symbol) is not None
