"""The data of chips, from the files in ``torch_aclnn/chips`` or a user's file of the same form."""

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

_FOLDER = Path(__file__).parents[1] / "chips"
_NEEDED = (
    "cube_tflops",
    "vector_tflops",
    "bandwidth_gib_s",
    "indexed_giga_elements_s",
    "link_gb_s",
    "links",
    "ranks_of_a_node",
    "node_link_gb_s",
    "efficiency",
    "microseconds",
)
_EFFICIENCIES = ("cube", "attention", "attention_backward", "bandwidth", "cube_bandwidth", "link", "node_link", "overlap")
_MICROSECONDS = ("launch", "kernel", "cube", "collective")
_GROUPS = ("cube_tflops", "efficiency", "microseconds")
LINKS = ("mesh", "switch", "pairs")  # each pair has a part of the rate; a rank has all of it to any other; all ranks share one path


class ChipError(ValueError):
    """A name that no file has, or a file that does not describe a chip; the message says what is missing."""


@dataclass(frozen=True)
class Chip:
    """What is known of a chip.

    Attributes:
        name: as it was asked for.
        about: what the file describes.
        soc: the name that the host engine presents.
        data: the numbers, each an object with ``value``, ``source`` and ``year``; those of the file that ``like`` names are included.

    """

    name: str
    about: str
    soc: str
    data: dict[str, Any]

    def __getitem__(self, key: str) -> Any:
        """Return a value by its key; the key ``"cube_tflops.bfloat16"`` names a member of a group."""
        found: Any = self.data
        for part in key.split("."):
            found = found[part]
        return found["value"]

    @property
    def memory(self) -> tuple[int, str] | None:
        """The bytes that torch_npu reports, and the source of the number."""
        number = self.data.get("memory_gib")
        return (round(number["value"] * (1 << 30)), number["source"]) if number else None

    def lacks_for_times(self) -> list[str]:
        """Return the keys without which no time can be estimated."""
        groups = {"efficiency": _EFFICIENCIES, "microseconds": _MICROSECONDS, "cube_tflops": ("bfloat16",)}
        lacking = [key for key in _NEEDED if key not in self.data]
        return lacking + [
            f"{group}.{key}" for group, keys in groups.items() for key in keys if group in self.data and key not in self.data[group]
        ]


def find(name: str) -> Chip:
    """Return the chip of that name, without regard to case, or of that file.

    Raises:
        ChipError: there is none, or the file is not of the form.

    """
    wanted = _plain(name)
    for data in map(_read, sorted(_FOLDER.glob("*.json"))):
        for known in data["names"]:
            if wanted == _plain(known):
                return Chip(name, data["about"], known if known.startswith("Ascend") else data["soc"], data)
    path = Path(name)
    if path.suffix != ".json":
        raise ChipError(f"expected {', '.join(names())}, or a JSON file, got {name}")
    data = _read(path)
    return Chip(name, data["about"], data["soc"], data)


def names() -> list[str]:
    """Return the names of all chips, without those of SoCs."""
    return [known for path in sorted(_FOLDER.glob("*.json")) for known in _read(path)["names"] if not known.startswith("Ascend")]


@cache
def _read(path: Path) -> dict[str, Any]:
    try:
        data = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise ChipError(f"{path}: expected a JSON object that describes a chip: {error}") from None
    if not isinstance(data, dict):
        raise ChipError(f"{path}: expected a JSON object that describes a chip")
    if "like" in data:
        like = {key: value for key, value in _read(_FOLDER / f"{data['like']}.json").items() if key != "names"}
        data = {**like, **data} | {group: {**like[group], **data[group]} for group in _GROUPS if group in like and group in data}
    for key, kind in (("about", str), ("soc", str), ("names", list)):
        if key == "names" and path.parent != _FOLDER:
            continue
        if not isinstance(data.get(key), kind):
            raise ChipError(f'{path}: expected "{key}", got {data.get(key)!r}')
    _require_sources(path, data)
    return data


def _require_sources(path: Path, data: dict[str, Any], within: str = "") -> None:
    for key, value in data.items():
        if isinstance(value, dict) and "value" not in value:
            _require_sources(path, value, f"{within}{key}.")
        elif isinstance(value, dict) and not ({"source", "year"} <= value.keys() and isinstance(value["value"], int | float | str)):
            raise ChipError(f'{path}: "{within}{key}": expected "value", "source" and "year", got {value}')
        elif not isinstance(value, dict) and key not in ("like", "about", "names", "soc"):
            raise ChipError(f'{path}: "{within}{key}": expected an object with "value", "source" and "year", got {value!r}')


def _plain(name: str) -> str:
    return name.casefold().replace(" ", "").replace("-", "").replace("_", "")


def find_with_rates(name: str) -> Chip:
    """Return the chip.

    Raises:
        ChipError: there is none of that name, or nobody has published its rates.

    """
    chip = find(name)
    lacking = chip.lacks_for_times()
    if lacking:
        raise ChipError(f"nobody has published the rates of {name}; a file of your own needs {', '.join(lacking)} (docs/how_long.md)")
    return chip
