"""docs/coverage.md tells what the engine's libraries really export and refuse."""

import ctypes
import importlib.util
from pathlib import Path

import torch_aclnn
import pytest
import torch
import torch_npu

ROOT = Path(__file__).resolve().parent.parent


def load_generator():
    spec = importlib.util.spec_from_file_location("generate_coverage", ROOT / "docs" / "generate_coverage.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


GENERATOR = load_generator()
FAMILIES = GENERATOR.families()


def test_the_document_is_up_to_date():
    assert GENERATOR.OUTPUT.read_text() == GENERATOR.document(), "run python docs/generate_coverage.py"


def test_each_listed_entry_point_is_exported_with_both_phases():
    libraries = [ctypes.CDLL(str(torch_aclnn.host.libdir() / name)) for name in ("libopapi.so", "libaclnn_math.so")]
    for names in FAMILIES.values():
        for name in names:
            assert any(hasattr(library, name) and hasattr(library, name + "GetWorkspaceSize") for library in libraries), name


def test_no_exported_entry_point_is_missing_from_the_list():
    listed = {name for names in FAMILIES.values() for name in names}
    exported = set()
    for name in ("libopapi.so", "libaclnn_math.so"):
        symbols = (torch_aclnn.host.libdir() / name).read_bytes().split(b"\0")
        exported |= {symbol.decode().removesuffix("GetWorkspaceSize") for symbol in symbols if symbol.endswith(b"GetWorkspaceSize")}
    assert {name for name in exported if name.isidentifier()} == listed


def test_each_entry_point_has_known_data_types():
    known = {*GENERATOR.types(), *GENERATOR.type_sets()}
    for names in FAMILIES.values():
        for name, dtypes in names.items():
            assert set(dtypes.split(" | ")) <= known, name


@pytest.mark.parametrize("row", GENERATOR.absent_operations(), ids=lambda row: row["operation"])
def test_an_absent_operation_is_refused_by_name(row):
    inputs = {
        "x": torch.randn(3, 4, device="npu", requires_grad=True),
        "image": torch.randn(1, 2, 4, 4, device="npu", requires_grad=True),
        "index": torch.tensor([2, 0, 1]).npu(),
    }
    with pytest.raises(RuntimeError, match=row["names"]):
        try:
            eval(row["example"], {"torch": torch, "torch_npu": torch_npu}, inputs)
        finally:
            torch.npu.synchronize()
