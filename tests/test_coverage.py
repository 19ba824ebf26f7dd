"""docs/coverage.md tells what the engine's libraries really export."""

import ctypes
import importlib.util
from pathlib import Path

import torch_aclnn

ROOT = Path(__file__).resolve().parent.parent


def load_generator():
    spec = importlib.util.spec_from_file_location("generate_coverage", ROOT / "docs" / "generate_coverage.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_table_is_up_to_date():
    generator = load_generator()
    assert generator.OUTPUT.read_text() == generator.table(), "run python docs/generate_coverage.py"


def test_each_listed_entry_point_is_exported_with_both_phases():
    libraries = [ctypes.CDLL(str(torch_aclnn.host.libdir() / name)) for name in ("libopapi.so", "libaclnn_math.so")]
    for names in load_generator().families().values():
        for name in names:
            assert any(hasattr(library, name) and hasattr(library, name + "GetWorkspaceSize") for library in libraries), name
