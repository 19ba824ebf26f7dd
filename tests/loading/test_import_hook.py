"""Code that imports torch, or torch_npu, and nothing of this package: each in a process of its own, which starts without the engine."""

import sys
from pathlib import Path

import pytest
from torch_aclnn import _built_for
from torch_aclnn.loading import cann
from torch_aclnn.loading.versions import minor

from support.marks import PRESENTED_CANN, without_import_hook
from support.new_processes import output_of, run_python

USE = "print(torch.npu.is_available(), (torch.ones(2, device='npu') + 1).tolist())"
IMPORTS = {
    "torch": "import torch",
    "torch_npu": "import torch_npu, torch",
    "torch without autoload": "import os; os.environ['TORCH_DEVICE_BACKEND_AUTOLOAD'] = '0'; import torch, torch_npu",
    "torch, then torch_aclnn": "import torch, torch_aclnn",
}
FOUND_BY_NAME = "import importlib.util; spec = importlib.util.find_spec('torch_npu')\n"


@pytest.mark.parametrize("imports", IMPORTS.values(), ids=IMPORTS)
def test_the_engine_answers(imports):
    # The whole of standard output: it belongs to the program.
    assert output_of(f"{imports}\n{USE}") == "True [2.0, 2.0]"


def test_torch_npu_finds_a_toolkit_with_a_version_and_keeps_a_loader_of_its_own():
    code = """
    import torch_npu, torch_npu.utils.collect_env
    print(torch_npu.utils.collect_env.get_cann_version())
    print(type(torch_npu.__loader__).__name__, type(torch_npu.__spec__.loader).__name__)
    """
    assert output_of(code).splitlines() == [PRESENTED_CANN, "SourceFileLoader SourceFileLoader"]


def test_a_process_that_does_not_import_torch_npu_loads_nothing():
    code = "import sys; print([name for name in sys.modules if name.startswith('torch')])"
    assert output_of(code) == "['torch_aclnn_import_hook']"


def test_asking_where_torch_npu_is_loads_nothing():
    code = FOUND_BY_NAME + "print(spec.loader.get_filename('torch_npu') == spec.origin, 'libascendcl' in open('/proc/self/maps').read())"
    assert output_of(code) == "True False"


@pytest.mark.parametrize("parent", ["torch", "torch_aclnn"])
def test_a_spawned_worker_needs_no_import_of_this_package(tmp_path, parent):
    (tmp_path / "worker.py").write_text("import torch\ndef work(x):\n    return (torch.ones(2).npu() * x).sum().item()\n")
    code = f"""
    import sys; sys.path.insert(0, {str(tmp_path)!r})
    import {parent}, multiprocessing, worker
    if __name__ == "__main__":
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            print(pool.map(worker.work, [3]))
    """
    assert output_of(code) == "[6.0]"


def test_it_can_be_switched_off():
    done = run_python("import torch", TORCH_ACLNN_IMPORT_HOOK="0")
    assert "ImportError: libhccl.so: cannot open shared object file" in done.stderr and "torch_aclnn" not in done.stderr
    assert output_of(f"import torch_aclnn, torch\n{USE}", TORCH_ACLNN_IMPORT_HOOK="0") == "True [2.0, 2.0]"


def test_a_switch_with_another_value_is_an_error():
    done = run_python("import torch", TORCH_ACLNN_IMPORT_HOOK="off")
    assert done.stderr.splitlines()[-1] == "torch_aclnn: TORCH_ACLNN_IMPORT_HOOK: expected 0 or 1, got 'off'"


def test_where_cann_is_meant_nothing_is_loaded_and_its_failure_is_explained(tmp_path):
    done = run_python("import torch", ASCEND_HOME_PATH="/nowhere/cann")
    last = done.stderr.splitlines()[-1]
    assert last.startswith("torch_aclnn: an NPU seems to be meant here (ASCEND_HOME_PATH=/nowhere/cann), but CANN's libraries do not load")
    assert "Failed to load the backend extension: torch_npu" in done.stderr


def test_a_failure_that_the_program_handles_is_not_repeated():
    code = """
    try:
        import torch
    except RuntimeError as error:
        print(type(error.__cause__).__name__, error.__cause__)
    raise SystemExit("something else")
    """
    done = run_python(code, TORCH_ACLNN_ENGINE="gpu")
    assert done.stdout == "ImportError TORCH_ACLNN_ENGINE: expected auto, cann or host, got 'gpu'\n"
    assert done.stderr == "something else\n"


def make_torch_npu(directory: Path, body: str, version: str = _built_for.TORCH_NPU) -> str:
    """Make a package torch_npu, and return the code that lets it be found first."""
    (directory / "torch_npu").mkdir()
    (directory / "torch_npu" / "__init__.py").write_text(body)
    (directory / "torch_npu" / "version.py").write_text(f"__version__ = {version!r}\n")
    return f"import sys; sys.path.insert(0, {str(directory)!r})\n"


def test_a_torch_npu_of_another_release_is_refused_before_it_loads(tmp_path):
    code = make_torch_npu(tmp_path, "raise AssertionError('must not run')", "2.6.0") + "import torch_npu"
    last = run_python(code).stderr.splitlines()[-1]
    built_for = minor(_built_for.TORCH_NPU)
    assert last.startswith(f"ImportError: torch_aclnn was built for torch_npu {built_for}, but 2.6.0 is installed; ")


def test_a_visible_gpu_is_named_with_both_remedies(tmp_path):
    code = make_torch_npu(tmp_path, "raise RuntimeError('Two accelerators cannot be used at the same time')")
    code += "import torch; torch.cuda.is_available = lambda: True\nimport torch_npu"
    last = run_python(code, TORCH_DEVICE_BACKEND_AUTOLOAD="0").stderr.splitlines()[-1]
    assert last.startswith("ImportError: a GPU is visible in addition to the npu device")
    assert "CUDA_VISIBLE_DEVICES= " in last and "TORCH_DEVICE_BACKEND_AUTOLOAD=0" in last


def test_any_other_failure_of_torch_npu_names_the_command_that_looks_further(tmp_path):
    code = make_torch_npu(tmp_path, "raise OSError('undefined symbol: x')") + "import torch_npu"
    last = run_python(code).stderr.splitlines()[-1]
    assert last == (
        "ImportError: torch_npu cannot be imported on the host engine: undefined symbol: x; `torch-aclnn info` shows what does not fit"
    )


def test_an_interrupted_import_stays_interrupted(tmp_path):
    code = make_torch_npu(tmp_path, "raise KeyboardInterrupt") + "import torch_npu"
    assert run_python(code).stderr.splitlines()[-1] == "KeyboardInterrupt"


def test_no_process_is_started_where_cann_answers(tmp_path):
    code = make_torch_npu(tmp_path, "print('CANN is left alone', 'libascendcl' in open('/proc/self/maps').read())")
    code += "import subprocess; del subprocess.Popen\nimport torch_npu"
    assert output_of(code, ASCEND_HOME_PATH="/nowhere/cann") == "CANN is left alone False"


@without_import_hook
def test_children_find_the_engine_through_the_environment():
    code = f"""
    import os, subprocess, torch
    print({{name: os.environ[name] for name in ('ASCEND_HOME_PATH', 'ASCEND_OPP_PATH')}}, flush=True)
    os.environ["TORCH_ACLNN_IMPORT_HOOK"] = "0"
    subprocess.run([{sys.executable!r}, "-c", {f"import torch; {USE}"!r}])
    """
    assert output_of(code).splitlines() == [str(cann.TOOLKIT_VARIABLES), "True [2.0, 2.0]"]
