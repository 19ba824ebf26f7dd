"""docs/evidence.tsv has a row for each thing that the extension uses of CANN, torch_npu and ATen on an NPU, and for nothing else."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from torch_aclnn import _C
from torch_aclnn._operators import OPERATORS
from torch_aclnn.check.families import SPECIFICATIONS

from support.evidence import ATEN, ENTRY_POINTS, OTHERS, SECTIONS, TORCH_NPU, named, rows
from support.symbols import is_of_torch_npu, qualified_name, undefined_symbols

ROOT = Path(__file__).parents[2]
SOURCES = "\n".join(path.read_text() for path in sorted((ROOT / "csrc" / "extension").rglob("*.cpp")))
PYTHON = [path for folder in ("autograd", "functional") for path in (ROOT / "torch_aclnn" / folder).glob("*.py")]
UNDEFINED = set(undefined_symbols(Path(_C.__file__)))


def is_of_tensors(name: str) -> bool:
    """Return whether ATen has an operator of this name that returns tensors, and takes one first or is a function of torch."""
    schemas = torch._C._jit_get_schemas_for_operator(f"aten::{name}")
    gives = any("Tensor" in str(result.type) for schema in schemas for result in schema.returns)
    return gives and any(schema.arguments and ("Tensor" in str(schema.arguments[0].type) or name in dir(torch)) for schema in schemas)


def without_overload(name: str) -> str:
    """Return the operator of a name such as sum_dim_IntList, of which the overload is the end."""
    parts = name.split("_")
    candidates = ("_".join(parts[:count]) for count in range(len(parts), 0, -1))
    return next(candidate for candidate in candidates if torch._C._jit_get_schemas_for_operator(f"aten::{candidate}"))


def called_in_python(path: Path) -> Iterator[str]:
    """Yield the operators and collectives of a module: attributes that are called, but not those of another module than torch."""
    tree = ast.parse(path.read_text())
    imports = [node for node in ast.walk(tree) if isinstance(node, (ast.Import, ast.ImportFrom))]
    modules = {alias.asname or alias.name for node in imports for alias in node.names} - {"torch"}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            name, owner = node.func.attr, node.func.value
            of_module = owner.id if isinstance(owner, ast.Name) and owner.id in modules else None
            if (of_module is None and is_of_tensors(name)) or (of_module == "dist" and name.startswith("all_")):
                yield name


def test_each_entry_point_has_its_rows():
    of_the_table = {operator.entry_point for operator in OPERATORS}
    assert named(ENTRY_POINTS) == set(re.findall(r'EntryPoint<[^;"]*> \w+\("(\w+)"\)', SOURCES)) | of_the_table


def test_each_other_function_of_cann_has_its_rows():
    assert named(OTHERS) == set(re.findall(r'\b(?:resolved<[^;"]*>|find<\w+>|find_operator|find_in_runtime)\("(\w+)"\)', SOURCES))


def test_each_function_of_torch_npu_has_its_rows():
    assert named(TORCH_NPU) == {qualified_name(symbol) for symbol in UNDEFINED if is_of_torch_npu(symbol)}


def test_each_operator_of_aten_has_its_rows():
    functions = {qualified_name(symbol) for symbol in UNDEFINED}
    in_cpp = {without_overload(name.split("::")[2]) for name in functions if name.startswith("at::_ops::")}
    in_python = {name for path in PYTHON for name in called_in_python(path)}
    assert named(ATEN) == in_cpp | in_python


@pytest.mark.parametrize("section", SECTIONS)
def test_each_row_has_a_property_a_source_and_a_test(section):
    for names, relied_on, source, test in rows(section):
        assert relied_on and source and re.fullmatch(r"`tests/[\w/]+\.py::test_\w+`(, `tests/[\w/]+\.py::test_\w+`)*", test), names


@pytest.mark.parametrize("operator", [o for o in OPERATORS if o.family != "batch_norm"], ids=lambda operator: operator.name)
def test_the_elements_of_self_do_not_count(operator):
    """The handle of the result, which holds NaN before the call, is that of self too."""
    sample = next(SPECIFICATIONS[operator.name].samples(torch.float32))
    gradient = getattr(torch.ops.torch_aclnn, operator.backward)
    expected = gradient(*sample.tensors, *sample.arguments)  # computed on cpu
    there, out = sample.to("npu"), torch.full_like(expected, float("nan")).npu()
    gradient.out(*there.tensors, *there.arguments, out=out)
    torch.testing.assert_close(out.cpu(), expected)
