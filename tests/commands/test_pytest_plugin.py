"""The pytest plugin: no use to most suites of an environment, and no harm to them."""

import os
import sys
from pathlib import Path

import pytest

from support.subprocesses import run_python

# By its module, so that the plugin of this tree is tested whatever is installed.
PYTEST = (sys.executable, "-m", "pytest", "-p", "no:torch_aclnn", "-p", "torch_aclnn_pytest", "-p", "no:cacheprovider")

USES_NPU = "import torch\ndef test_npu():\n    assert (torch.ones(2).npu().exp() + 1).sum().item() > 7\n"
USES_NOTHING = """
import sys
def test_nothing_is_imported():
    assert not {"torch", "torch_npu", "torch_aclnn"} & set(sys.modules)
"""


def run_suite(directory: Path, suite: str, launcher: tuple[str, ...] = PYTEST, **settings: str) -> str:
    (directory / "test_it.py").write_text(suite)
    done = run_python("", launcher=(*launcher, str(directory)), **settings)
    return done.stdout + done.stderr


def test_a_suite_that_imports_torch_first_has_the_engine(tmp_path):
    printed = run_suite(tmp_path, USES_NPU)
    assert "torch_aclnn: host engine (CPU), if torch_npu is imported" in printed and "1 passed" in printed


def test_a_suite_that_imports_torch_npu_first_has_the_engine(tmp_path):
    assert "1 passed" in run_suite(tmp_path, "import torch_npu\n" + USES_NPU)


def test_a_suite_that_imports_torch_aclnn_has_all_of_it(tmp_path):
    suite = "import torch, torch_aclnn\ndef test_it():\n    assert torch_aclnn.host.is_active() and torch_aclnn.functional\n"
    assert "1 passed" in run_suite(tmp_path, suite)


def test_the_installed_plugin_is_found_by_pytest(tmp_path):
    printed = run_suite(tmp_path, USES_NPU, launcher=(sys.executable, "-m", "pytest", "-p", "no:cacheprovider"))
    assert "torch_aclnn: host engine (CPU)" in printed and "1 passed" in printed and "PytestAssertRewriteWarning" not in printed


def test_nothing_is_imported_for_a_suite_without_torch(tmp_path):
    printed = run_suite(tmp_path, USES_NOTHING)
    assert "1 passed" in printed and "warning" not in printed


def test_asking_whether_torch_npu_is_installed_loads_nothing(tmp_path):
    suite = """
import importlib.util, os
def test_it():
    assert importlib.util.find_spec("torch_npu") is not None
    assert "libascendcl" not in open("/proc/self/maps").read()
"""
    assert "1 passed" in run_suite(tmp_path, suite)


@pytest.mark.parametrize("suite", [USES_NOTHING, "import torch\ndef test_cpu():\n    assert torch.ones(2).sum() == 2\n"])
def test_an_engine_that_cannot_be_chosen_is_told_and_breaks_nothing(tmp_path, suite):
    # Without the engine torch does not load torch_npu here; where CANN is installed it does.
    printed = run_suite(tmp_path, suite, TORCH_ACLNN_ENGINE="bad", TORCH_DEVICE_BACKEND_AUTOLOAD="0")
    assert "torch_aclnn: TORCH_ACLNN_ENGINE: expected auto, cann or host, got 'bad'" in printed and "1 passed" in printed


def test_an_engine_that_does_not_load_is_told_at_the_end(tmp_path):
    suite = "import pytest\ndef test_it():\n    with pytest.raises((ImportError, RuntimeError)):\n        import torch_npu\n"
    printed = run_suite(tmp_path, suite, TORCH_ACLNN_ENGINE="cann")
    assert "torch_aclnn: CANN, if torch_npu is imported" in printed and "1 passed" in printed
    assert "torch_aclnn: TORCH_ACLNN_ENGINE=cann, but CANN's libraries do not load" in printed


FAILS = """
def test_ffn():
    raise RuntimeError("aclnnFFNV2 or aclnnFFNV2GetWorkspaceSize not in libopapi.so, or libopapi.so not found.")
def test_iou():
    raise RuntimeError("operator NMSWithMask has no entry point in the torch_aclnn host engine and cannot be compiled for it")
test_again = test_ffn
def test_type():
    raise RuntimeError("aclnnLogit: self: expected a data type of FLOAT on Ascend910B3, got DOUBLE (not implemented for DT_DOUBLE)")
def test_shape():
    raise RuntimeError("aclnnFlip: dims: expected dimensions of self, got [3]")
"""


@pytest.mark.parametrize("options", [(), ("-n", "2")], ids=["one process", "xdist"])
def test_the_operators_that_tests_failed_for_are_listed_at_the_end(tmp_path, options):
    printed = run_suite(tmp_path, FAILS, launcher=(*PYTEST, *options))
    assert "torch_aclnn: the host engine does not have aclnnFFNV2 (2 failed), operator NMSWithMask (1 failed)" in printed
    assert "torch_aclnn: refused: aclnnFlip dims [3] (1 failed)" in printed
    assert "torch_aclnn: refused: aclnnLogit self DOUBLE (1 failed)" in printed and "TORCH_ACLNN_HOST_MODE=float64 takes" in printed
    blocking = "with ASCEND_LAUNCH_BLOCKING=1 at the call"
    assert blocking in printed and blocking not in run_suite(tmp_path, FAILS, ASCEND_LAUNCH_BLOCKING="1")


def test_the_header_tells_that_the_import_hook_is_off(tmp_path):
    printed = run_suite(tmp_path, USES_NOTHING, TORCH_ACLNN_IMPORT_HOOK="0")
    assert "torch_aclnn: host engine (CPU), if torch_aclnn is imported before torch (TORCH_ACLNN_IMPORT_HOOK=0)" in printed


def test_a_plugin_that_cannot_be_loaded_is_told_and_breaks_nothing(tmp_path):
    (tmp_path / "torch_aclnn").mkdir()
    (tmp_path / "torch_aclnn" / "__init__.py").touch()
    (tmp_path / "torch_aclnn" / "_source_tree.py").write_text("raise RuntimeError('broken on purpose')")
    printed = run_suite(tmp_path, USES_NOTHING, PYTHONPATH=f"{tmp_path}:{Path(__file__).resolve().parents[2]}")
    assert "torch_aclnn: the plugin cannot be loaded: broken on purpose" in printed and "1 passed" in printed


@pytest.mark.parametrize(
    ("options", "settings"),
    [(["-p", "no:torch_aclnn"], {}), ([], {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}), (["-p", "early"], {})],
    ids=["switched off", "plugins are not loaded", "another plugin imports torch before"],
)
def test_a_suite_does_not_need_the_plugin(tmp_path, options, settings):
    (tmp_path / "early.py").write_text("import torch\n")
    launcher = (sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *options)
    path = os.pathsep.join(filter(None, [str(tmp_path), os.environ.get("PYTHONPATH")]))
    assert "1 passed" in run_suite(tmp_path, USES_NPU, launcher, PYTHONPATH=path, **settings)


def test_the_plugin_can_be_switched_off(tmp_path):
    printed = run_suite(tmp_path, USES_NOTHING, launcher=(sys.executable, "-m", "pytest", "-p", "no:torch_aclnn", "-p", "no:cacheprovider"))
    assert "torch_aclnn:" not in printed and "1 passed" in printed
