"""Plain programs, built outside the tree as a user builds them, and run with nothing in their environment."""

import shutil
import subprocess
from pathlib import Path

import pytest
from torch_aclnn.command import locations
from torch_aclnn.loading.paths import libdir

SOURCES = Path(__file__).parent / "client"
PRINTED = {"add": "3 5 7 9\n1 1 1 1\n", "softmax": "0.200 0.600 0.200, largest at 1\n"}
COMPILERS = {"add": ("cc", "-std=c11", "add.c"), "softmax": ("c++", "-std=c++17", "softmax.cpp")}
ENVIRONMENT = {"PATH": "/usr/local/bin:/usr/bin:/bin"}


def program_of_the_machine(name: str) -> str:
    found = shutil.which(name, path=ENVIRONMENT["PATH"])
    if found is None:
        pytest.skip(f"no {name}")
    return found


def built(name: str, directory: Path) -> Path:
    """Compile and link a program with the flags that the command line prints."""
    compiler, standard, source = COMPILERS[name]
    flags = locations.config({"cflags", "libs"})[0].split()
    command = [program_of_the_machine(compiler), standard, "-Wall", "-Wextra", "-Werror", "-pedantic", SOURCES / source, "-o", name, *flags]
    subprocess.run(command, cwd=directory, env=ENVIRONMENT, check=True)
    return directory / name


def run(program: Path, **environment: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([program], cwd=program.parent, env=environment, capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize("name", COMPILERS)
def test_a_program_finds_all_it_needs(name, tmp_path):
    ended = run(built(name, tmp_path))
    assert (ended.returncode, ended.stdout) == (0, PRINTED[name]), ended.stderr


@pytest.mark.parametrize("way", ["package", "toolkit", "none"])
def test_cmake_builds_the_example(way, tmp_path):
    cmake = shutil.which("cmake")
    if cmake is None:
        pytest.skip("no cmake")
    environment = {**ENVIRONMENT, "CXX": program_of_the_machine("c++")}
    toolkit = {"ASCEND_TOOLKIT_HOME": str(libdir().parent), "LD_LIBRARY_PATH": str(libdir())} if way == "toolkit" else {}
    package = [f"-Dtorch_aclnn_DIR={locations.config({'cmake'})[0]}"] if way == "package" else []
    configure = [cmake, "-S", Path(__file__).parents[2] / "examples", "-B", tmp_path, *package]
    configured = subprocess.run(configure, env=environment | toolkit, capture_output=True, text=True)
    if way == "none":
        assert configured.returncode == 1 and "expected a toolkit" in configured.stderr
        return
    subprocess.run([cmake, "--build", tmp_path], env=environment, check=True, capture_output=True)
    ended = run(tmp_path / "aclnn_client", **toolkit)
    assert ended.returncode == 0 and "sum of gradInput: 16\n" in ended.stdout, ended.stderr


def test_the_toolkit_directory_is_enough_for_a_build_system(tmp_path):
    """Projects for CANN do so: they take include and lib64 of a toolkit, and the libraries that CANN has."""
    toolkit = libdir().parent
    libraries = ["-lascendcl", "-lnnopbase", "-lopapi", "-lacl_op_compiler"]
    flags = [f"-I{toolkit}/include", f"-I{toolkit}/include/aclnn", f"-L{toolkit}/lib64", *libraries]
    command = [program_of_the_machine("c++"), "-std=c++17", SOURCES / "softmax.cpp", "-o", "softmax", *flags]
    subprocess.run(command, cwd=tmp_path, env=ENVIRONMENT, check=True)
    ended = run(tmp_path / "softmax", LD_LIBRARY_PATH=str(toolkit / "lib64"))
    assert (ended.returncode, ended.stdout) == (0, PRINTED["softmax"]), ended.stderr


def test_without_the_library_of_the_adapters_the_call_says_so(tmp_path):
    """The engine's own operators need no torch, so the program comes as far as the first that does."""
    program = built("add", tmp_path)
    for name in ("ascendcl", "nnopbase", "opapi", "torch_aclnn_kernels"):
        shutil.copy(libdir() / f"lib{name}.so", tmp_path)
    ended = run(program, LD_LIBRARY_PATH=str(tmp_path))
    assert ended.returncode == 1
    said = "aclnnAddGetWorkspaceSize: 561003 aclnnAddGetWorkspaceSize: libaclnn_math.so does not load, which needs torch's libraries: "
    assert said in ended.stderr, ended.stderr
