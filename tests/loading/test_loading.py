"""The ways in which the engine gets loaded, each in a process of its own, which starts without it."""

import sys
from pathlib import Path

from torch_aclnn._operators import OPERATORS
from torch_aclnn.command.installation import version

from support.new_processes import COMMAND, output_of, run_python

HAS_NPU = "import torch; print(torch.npu.is_available(), (torch.ones(2).npu() + 1).tolist())"


def test_importing_torch_first_after_the_env_command():
    assert output_of(f'eval "$({COMMAND} env)"; {sys.executable} -c "{HAS_NPU}"', launcher=("bash", "-c")) == "True [2.0, 2.0]"


def test_run_passes_on_a_script_that_imports_torch_first_and_its_arguments(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(f"{HAS_NPU}; import sys; print(sys.argv[1:])")
    printed = output_of("ignored", launcher=(COMMAND, "run", str(script), "--flag"))
    assert printed.splitlines() == ["True [2.0, 2.0]", "['--flag', 'ignored']"]


def test_importing_torch_aclnn_after_torch_without_autoload():
    code = "import torch, torch_aclnn; print(torch.npu.is_available())"
    assert output_of(code, TORCH_DEVICE_BACKEND_AUTOLOAD="0") == "True"


def test_a_forked_child_can_use_the_cpu_kernels():
    code = """
    import torch_aclnn, torch, os
    grad_output = torch.ones(8, 16, 64, 64)  # enough for several threads, which do not survive the fork
    fn = lambda: torch.ops.torch_aclnn.avg_pool2d_backward(grad_output, (8, 16, 128, 128), (2, 2))
    parent = fn()
    pid = os.fork()
    if pid == 0:
        os._exit(0 if fn().numpy().tobytes() == parent.numpy().tobytes() else 1)
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
    """
    assert output_of(code) == "0"


def test_the_engine_answers_and_says_once_who_it_is_where_torch_aclnn_is_imported_first():
    done = run_python("import torch_aclnn, torch; torch.ones(2).npu(); torch.ones(2).npu(); print(torch_aclnn.host.is_active())")
    assert done.stdout == "True\n"
    lines = [line for line in done.stderr.splitlines() if "host engine" in line]
    assert len(lines) == 1 and "not an NPU" in lines[0] and "Ascend910B3" in lines[0]


def test_asking_for_cann_where_there_is_none_says_what_to_do():
    done = run_python("import torch_aclnn", TORCH_ACLNN_ENGINE="cann")
    assert done.returncode == 1 and "CANN's libraries do not load" in done.stderr and "set_env.sh" in done.stderr


def test_info_shows_versions_engine_entry_points_and_a_verdict():
    printed = output_of("", launcher=(COMMAND, "info")).splitlines()
    table = dict(line.split(maxsplit=1) for line in printed)
    assert table["torch"].startswith(version("torch")) and table["torch_npu"] == version("torch_npu")
    assert table["SoC"] == "Ascend910B3"
    assert table["engine"].startswith("host engine") and table["verdict"] == "ready"
    for operator in OPERATORS:
        assert table[operator.entry_point].endswith("libopapi.so")
    assert "operator library 5               libopapi.so: loaded" in printed


def test_info_explains_what_is_wrong_and_fails():
    done = run_python("", launcher=(COMMAND, "info"), TORCH_ACLNN_ENGINE="cann")
    assert done.returncode == 1 and "not usable: TORCH_ACLNN_ENGINE=cann" in done.stdout


def test_config_prints_where_headers_and_libraries_are():
    assert (Path(output_of("", launcher=(COMMAND, "config", "--includedir"))) / "acl" / "acl.h").exists()
    assert (Path(output_of("", launcher=(COMMAND, "config", "--libdir"))) / "libopapi.so").exists()
