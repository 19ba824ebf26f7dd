"""The includes of C++ and the imports of Python are the arrows of the picture in docs/architecture.md."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from itertools import pairwise, product
from pathlib import Path

import pytest

from support.vocabulary import RECORDS

ROOT = Path(__file__).parents[2]
CSRC = ROOT / "csrc"
PICTURE = re.search(r"```mermaid\n(.*?)```", (ROOT / "docs" / "architecture.md").read_text(), re.DOTALL)[1]
LABEL = r'[\[{]+"([^"]+)"[\]}]+'
# The picture shows the folders of these one by one.
DRAWN = ("csrc", "csrc/engine", "csrc/extension", "torch_aclnn")
# The folders of the runtime, which is one box of the picture: each may include those before it.
RUNTIME = ("error", "config", "fault", "diagnostics", "call", "device", "memory", "stream", "graph", "operator_by_name")

# The folders of csrc/engine/aten, with the others that each includes; all may include adapter/ and numerics/.
ATEN = {
    "adapter": "numerics",
    "attention": "matmul quantization random",
    "by_name": "layout quantization random recurrent training vision",
    "collective_matmul": "matmul quantization",
    "indexing": "pointwise",
    "kv_cache": "quantization",
    "layout": "",
    "matmul": "layout quantization",
    "moe": "quantization",
    "normalization": "pointwise quantization",
    "numerics": "adapter",
    "pointwise": "",
    "quantization": "layout pointwise",
    "random": "",
    "recurrent": "",
    "reduction": "",
    "sparse_attention": "",
    "stream": "",
    "training": "quantization",
    "vision": "quantization",
}

Arrow = tuple[Path, Path]


@cache
def picture() -> tuple[set[Path], set[Arrow]]:
    """Read the boxes that are files or folders, and the arrows between them but the dotted ones, which are calls at run time."""
    boxes: dict[str, Path] = {}
    drawn: set[tuple[str, str]] = set()
    outer = Path()
    for line in PICTURE.splitlines()[1:]:
        boxes |= {name: outer / label.split(":")[0] for name, label in re.findall(rf"(\w+){LABEL}", line)}
        plain = re.sub(rf"{LABEL}|\|[^|]*\|", "", line)
        if plain.split()[0] in ("subgraph", "end"):
            outer = boxes[plain.split()[1]] if plain.split()[0] == "subgraph" else Path()
        elif "-.->" not in plain:
            ends = [re.findall(r"\w+", part) for part in plain.split("-->")]
            drawn.update(arrow for sources, targets in pairwise(ends) for arrow in product(sources, targets))
    ours = {name: box for name, box in boxes.items() if (ROOT / box).exists()}
    return set(ours.values()), {(ours[source], ours[target]) for source, target in drawn if source in ours and target in ours}


def sources(folder: str, *suffixes: str) -> list[Path]:
    return sorted(path for path in (ROOT / folder).rglob("*") if path.suffix in suffixes)


def includes(path: Path) -> Iterator[Path]:
    for mark, name in re.findall(r'^ *# *include (["<])([^">]+)', path.read_text(), re.MULTILINE):
        places = [CSRC / name, CSRC / "include" / name, *([path.parent / name] if mark == '"' else [])]
        yield from [place.resolve() for place in places if place.is_file()][:1]


def imports(path: Path) -> Iterator[Path]:
    for node in ast.walk(ast.parse(path.read_text())):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import | ast.ImportFrom) else []
        if isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{name}" for name in names]
        yield from (module(name) for name in names if name.split(".")[0] == "torch_aclnn")


def module(name: str) -> Path:
    """Return the file of the module that is imported, or that has the imported name."""
    if name.startswith("torch_aclnn._C"):
        return CSRC / "extension" / "library.cpp"
    place = ROOT.joinpath(*name.split("."))
    files = [file for parent in (place, place.parent) for file in (parent.with_suffix(".py"), parent / "__init__.py")]
    return next(file for file in files if file.is_file())


def box(path: Path) -> Path:
    """Return the smallest box of the picture that has the file."""
    around = [parent for parent in (path.relative_to(ROOT), *path.relative_to(ROOT).parents) if parent in picture()[0]]
    return around[0] if around else Path(path.relative_to(ROOT).parts[0])


def within(inner: Path, outer: Path) -> bool:
    return inner == outer or outer in inner.parents


@cache
def uses() -> dict[Arrow, str]:
    """Find who includes or imports whom, with an example; a file of no box, directly in a folder, is for all in the folder."""
    found = {}
    for path in [*sources("csrc", ".cpp", ".h"), *sources("torch_aclnn", ".py")]:
        for other in imports(path) if path.suffix == ".py" else includes(path):
            arrow = box(path), box(other)
            if not within(*arrow) and not within(*reversed(arrow)):
                found[arrow] = f"{path.relative_to(ROOT)} needs {other.relative_to(ROOT)}"
    return found


def covers(arrow: Arrow, use: Arrow) -> bool:
    return within(use[0], arrow[0]) and within(use[1], arrow[1])


@pytest.mark.parametrize("folder", DRAWN)
def test_each_folder_and_public_module_is_in_the_picture(folder):
    suffixes = (".py",) if folder == "torch_aclnn" else (".cpp", ".h")
    inside = {ROOT / folder / path.relative_to(ROOT / folder).parts[0] for path in sources(folder, *suffixes)}
    inside.discard(ROOT / "torch_aclnn" / "toolkit")  # made by the build
    shown = [path for path in inside if path.is_dir() or (path.suffix == ".py" and not path.name.startswith("_"))]
    assert shown and [path for path in shown if path.relative_to(ROOT) not in picture()[0]] == []


def test_what_includes_or_imports_another_has_an_arrow_to_it():
    assert [example for use, example in uses().items() if not any(covers(arrow, use) for arrow in picture()[1])] == []


def test_an_arrow_is_an_include_or_an_import():
    assert [arrow for arrow in picture()[1] if not any(covers(arrow, use) for use in uses())] == []


def test_no_arrow_leads_back():
    boxes, arrows = picture()
    leads = {inner: [to for arrow in arrows if within(inner, arrow[0]) for to in boxes if within(to, arrow[1])] for inner in boxes}
    assert list(TopologicalSorter(leads).static_order())  # otherwise CycleError


def test_no_folder_of_the_runtime_includes_one_that_comes_after_it():
    runtime = CSRC / "engine" / "runtime"
    assert {path.name for path in runtime.iterdir() if path.is_dir()} == set(RUNTIME)
    order = {runtime / name: number for number, name in enumerate(RUNTIME)}
    for path in sources("csrc/engine/runtime", ".cpp", ".h"):
        # What is in the folder itself includes nothing of the others if it is a header, and joins them if not.
        number = order.get(runtime / path.relative_to(runtime).parts[0], len(RUNTIME) if path.suffix == ".cpp" else -1)
        assert [other for other in includes(path) for folder in other.parents if order.get(folder, -1) > number] == [], path


def test_families_of_entry_points_include_those_that_are_listed():
    aten = CSRC / "engine" / "aten"
    found: dict[str, set[str]] = {path.name: set() for path in aten.iterdir() if path.is_dir()}
    for path in sources("csrc/engine/aten", ".cpp", ".h"):
        folders = {other.relative_to(aten).parts[0] for other in includes(path) if within(other, aten)}
        found.get(path.parent.name, set()).update(folders - {path.parent.name})
    for_all = {"adapter", "numerics"}
    assert {name: others - for_all if name not in for_all else others for name, others in found.items()} == {
        name: set(others.split()) for name, others in ATEN.items()
    }


def test_no_header_that_torch_npu_declares_too_is_included_together_with_its_own():
    for path in sources("csrc/extension", ".cpp", ".h"):
        if re.search(r"#include <torch_npu/", path.read_text()):
            assert not any(within(other, CSRC / "include" / "acl") for other in includes(path)), path


def test_each_source_of_entry_points_has_its_tests():
    sources = {(record.family, record.source) for record in RECORDS.values()}
    tests = {(path.parent.name, path.stem.removeprefix("test_")) for path in (ROOT / "tests" / "aten").glob("*/test_*.py")}
    assert sorted(sources - tests) == []
    assert [test for test in tests if not (CSRC / "engine" / "aten" / test[0] / f"{test[1]}.cpp").is_file()] == []
