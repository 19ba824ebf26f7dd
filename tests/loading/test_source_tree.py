"""A source tree that is not built, and comes before the installed package on the path, as in the root of a clone."""

import shlex
import shutil
import subprocess
import sys
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

import pytest
from torch_aclnn import _source_tree
from torch_aclnn._source_tree import is_built

from support.subprocesses import COMMAND, output_of, run_python

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = Path(_source_tree.__file__).parent


@pytest.fixture(scope="module")
def inside(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, ...]:
    """Return the beginning of a command line that runs in the root of a tree that is not built."""
    tree = tmp_path_factory.mktemp("clone")
    shutil.copytree(ROOT / "torch_aclnn", tree / "torch_aclnn", ignore=shutil.ignore_patterns("toolkit", "_C.*", "__pycache__"))
    for module in ("torch_aclnn_command.py", "torch_aclnn_pytest.py"):
        shutil.copy(ROOT / module, tree)
    (tree / "test_it.py").write_text("import torch\ndef test_npu():\n    assert torch.ones(2).npu().sum().item() == 2\n")
    return ("sh", "-c", f'cd {shlex.quote(str(tree))} && exec "$@"', "sh")


@pytest.mark.parametrize("command", [(sys.executable, "-c"), (COMMAND, "run", "-c")], ids=["python", "torch-aclnn run"])
def test_the_installed_package_is_imported(inside, command):
    code = "import torch_aclnn, torch_aclnn.nn, torch; print(torch_aclnn.__file__, torch_aclnn.nn.__file__, torch.npu.is_available())"
    expected = f"{PACKAGE}/__init__.py {PACKAGE}/nn/__init__.py True"
    assert output_of(code, launcher=(*inside, *command)) == expected


def test_help_shows_the_installed_package(inside):
    printed = output_of("help('torch_aclnn')", launcher=(*inside, sys.executable, "-c"))
    assert "Backward operators of Ascend CANN" in printed and f"{PACKAGE}/__init__.py" in printed


def test_the_pytest_plugin_takes_the_installed_package(inside):
    command = (*inside, sys.executable, "-m", "pytest", "-p", "torch_aclnn_pytest", "-p", "no:torch_aclnn", "-p", "no:cacheprovider")
    printed = output_of("", launcher=command)
    assert "torch_aclnn: host engine (CPU), if torch_npu is imported" in printed and "1 passed" in printed


def test_without_an_installed_package_the_error_says_what_to_do(inside):
    done = run_python("import torch_aclnn", launcher=(*inside, sys.executable, "-S", "-E", "-c"))
    last = done.stderr.splitlines()[-1]
    assert last.startswith("ImportError: torch_aclnn: the source tree ") and "is not built" in last and "run `pip install " in last


def test_a_tree_that_is_built_for_this_interpreter_stays_in_its_place(tmp_path):
    (tmp_path / "toolkit" / "lib64").mkdir(parents=True)
    (tmp_path / "toolkit" / "lib64" / "libascendcl.so").touch()
    (tmp_path / "_C.cpython-27-other.so").touch()
    assert not is_built(tmp_path)
    (tmp_path / f"_C{EXTENSION_SUFFIXES[0]}").touch()
    assert is_built(tmp_path)


@pytest.mark.skipif(shutil.which("cmake") is None, reason="no cmake")
@pytest.mark.parametrize(("version", "is_taken"), [("10.3.1", False), ("11.1.0", True)])
def test_an_old_compiler_is_refused_in_one_message(version, is_taken):
    compiler = ("-DCMAKE_CXX_COMPILER_ID=GNU", f"-DCMAKE_CXX_COMPILER_VERSION={version}", "-DCMAKE_CXX_COMPILER=g++")
    done = subprocess.run(["cmake", *compiler, "-P", ROOT / "csrc" / "compiler.cmake"], capture_output=True, text=True)
    assert (done.returncode == 0) is is_taken and ("needs gcc 11 or later, got 10.3.1 (g++)" in done.stderr) is not is_taken
