"""The includes of C++ and the imports of Python go one way, as the picture in docs/architecture.md has it."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
# Each room may include those before it. What lies in a folder itself, without a room, is for all, and includes nothing of the rooms.
ROOMS = {
    "csrc/engine": ("runtime", "mspti", "opapi", "hccl", "collectives", "aten"),
    "csrc/engine/runtime": (
        "error", "config", "fault", "diagnostics", "call", "device", "memory", "stream", "graph", "operator_by_name",
    ),
    "csrc/extension": ("aclnn", "autograd", "ops", "python"),
}  # fmt: skip
# What one side of CANN's interface includes of the other.
SIDES = {"csrc/kernels": {"kernels"}, "csrc/engine": {"kernels", "engine"}, "csrc/extension": {"kernels", "extension", "include"}}
PICTURE = (ROOT / "docs" / "architecture.md").read_text()


def sources(folder: str) -> list[Path]:
    return sorted(path for path in (ROOT / folder).rglob("*") if path.suffix in (".cpp", ".h"))


def includes(path: Path) -> list[str]:
    return re.findall(r'^#include "([^"]+)"', path.read_text(), re.MULTILINE)


def upward(folder: str) -> Iterator[str]:
    """Find what includes a room that comes after its own."""
    rooms, prefix = ROOMS[folder], folder.removeprefix("csrc/") + "/"
    for path in sources(folder):
        here = path.relative_to(ROOT / folder).parts[0]
        if here not in rooms and path.suffix == ".cpp":
            continue  # it joins the rooms into a library
        allowed = rooms[: rooms.index(here) + 1] if here in rooms else ()
        included = [name.removeprefix(prefix).split("/")[0] for name in includes(path) if name.startswith(prefix)]
        yield from (f"{path.relative_to(ROOT)} includes {room}/" for room in included if room in rooms and room not in allowed)


@pytest.mark.parametrize("folder", ROOMS)
def test_no_room_includes_one_that_comes_after_it(folder):
    assert {path.name for path in (ROOT / folder).iterdir() if path.is_dir()} == set(ROOMS[folder])
    assert list(upward(folder)) == []


@pytest.mark.parametrize("folder", SIDES)
def test_each_side_includes_what_is_its_own(folder):
    own = {name.split("/")[0] for path in sources(folder) for name in includes(path) if "/" in name}
    assert own & {"kernels", "engine", "extension", "loading"} <= SIDES[folder]


def test_the_picture_has_the_rooms():
    for folder in ("csrc/engine", "csrc/extension"):
        assert [room for room in ROOMS[folder] if room != "mspti" and f"{room}/" not in PICTURE] == []


def test_no_header_that_torch_npu_declares_too_is_included_beside_its_own():
    for path in sources("csrc/extension"):
        if re.search(r"#include <torch_npu/", path.read_text()):
            assert [name for name in includes(path) if name.startswith("include/acl/")] == [], path


# Of the package: what a folder imports of those that come after it would be a circle. The command line joins all.
PACKAGE = ("host", "autograd", "functional", "nn", "check")
COMMAND_LINE = "torch_aclnn/host/cli.py"


def imported(path: Path) -> Iterator[str]:
    """Return the modules of the package that one imports when it is itself imported."""
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("torch_aclnn"):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


@pytest.mark.parametrize("folder", PACKAGE)
def test_no_folder_of_the_package_imports_one_that_comes_after_it(folder):
    later = PACKAGE[PACKAGE.index(folder) + 1 :]
    paths = [path for path in (ROOT / "torch_aclnn" / folder).rglob("*.py") if path != ROOT / COMMAND_LINE]
    assert paths and [f"{path} imports {name}" for path in paths for name in imported(path) if name.split(".")[1] in later] == []
