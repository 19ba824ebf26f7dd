"""The torch-aclnn command as a newcomer meets it: help, errors of use, the ways to start it, and flags for compilers."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import torch_aclnn
import pytest
from torch_aclnn.loading.paths import includedir, libdir

from support.subprocesses import COMMAND, output_of, run_python

ROOT = Path(__file__).parents[2]
COMMANDS = ("run", "coverage", "debug", "dryrun", "env", "config", "info", "trace", "check")


@pytest.mark.parametrize("arguments", [["--help"], ["-h"], ["run", "-h"], *([command, "--help"] for command in COMMANDS)])
def test_the_help_is_our_own_with_an_example_and_fits_a_terminal(arguments):
    text = output_of("", launcher=(COMMAND, *arguments))
    name = " ".join(["torch-aclnn", *arguments[:-1]])
    assert text.startswith(f"usage: {name} ")
    assert re.search(rf"^examples?:\n  .*{name}[ )]", text, re.MULTILINE)
    assert [line for line in text.splitlines() if len(line) > 80] == []


@pytest.mark.parametrize("command", ["run", "coverage", "debug"])
def test_what_stands_behind_the_program_is_the_programs(command):
    code = "import sys; print(sys.argv[1:])"
    assert output_of("--help", launcher=(COMMAND, command, "-c", code, "--json")) == "['--json', '--help']"
    assert output_of("import sys; print(sys.flags.optimize)", launcher=(COMMAND, command, "-O", "-c")) == "1"


def test_a_script_that_does_not_exist_is_pythons_error():
    done = run_python("", launcher=(COMMAND, "run", "missing.py"))
    assert done.returncode == 2 and "can't open file" in done.stderr and "Traceback" not in done.stderr


def test_the_version():
    assert output_of("", launcher=(COMMAND, "--version")) == f"torch-aclnn {torch_aclnn.__version__}"


def test_without_a_command_the_help_comes_with_an_errors_code():
    done = run_python("", launcher=(COMMAND,))
    assert done.returncode == 2 and done.stdout == "" and done.stderr.startswith("usage: torch-aclnn ")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["foo"], "torch-aclnn: argument command: invalid choice: 'foo'"),
        (["run"], "torch-aclnn run: expected a script, -c or -m and its arguments (see torch-aclnn run --help)"),
        (["coverage", "--json"], "torch-aclnn coverage: argument --json: expected one argument"),
        (["coverage", "--json=/nowhere/r.json", "x.py"], "torch-aclnn coverage: argument --json: expected a file in a folder that can be"),
        (["coverage", "--json", "/tmp/r.json"], "torch-aclnn coverage: expected a script, -c or -m and its arguments"),
        (["debug", "--without", "async", "x.py"], "torch-aclnn debug: argument --without: expected some of strict, workspace, "),
        (["config"], "torch-aclnn config: expected at least one of --cflags, --libs, "),
        (["config", "--lib"], "torch-aclnn: unrecognized arguments: --lib"),
        (["info", "--yaml"], "torch-aclnn: unrecognized arguments: --yaml"),
        (["trace"], "torch-aclnn trace: the following arguments are required: FILE"),
        (["check", "--operator", "foo"], "torch-aclnn check: argument --operator: invalid choice: 'foo'"),
    ],
)
def test_an_error_of_use_is_one_line(arguments, message):
    done = run_python("", launcher=(COMMAND, *arguments))
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr.startswith(message) and done.stderr.count("\n") == 1


@pytest.mark.parametrize("arguments", ["info", "config --cflags", "env", "run --help", "--help"])
def test_a_reader_that_ends_early_is_no_error(arguments):
    # The reader has ended before anything is written, as `head` may.
    done = subprocess.run(["bash", "-c", f"(sleep 0.5; exec {COMMAND} {arguments}) | true"], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0 and done.stderr == ""


def test_several_locations_are_printed_at_once():
    printed = output_of("", launcher=(COMMAND, "config", "--libs", "--libdir", "--includedir", "--cflags")).splitlines()
    flags = f"-I{includedir()} -L{libdir()} -Wl,-rpath,{libdir()} -lascendcl -lnnopbase -lopapi"
    assert printed == [str(includedir()), str(libdir()), flags]


def test_the_flags_compile_a_program_that_runs(tmp_path):
    if shutil.which("g++") is None:
        pytest.skip("no g++ on the path")
    source = ROOT / "examples" / "aclnn_client.cpp"
    build = f"g++ -std=c++17 {source} -o {tmp_path}/client $({COMMAND} config --cflags --libs) && {tmp_path}/client"
    assert "sum of gradInput: 16" in output_of(build, launcher=("bash", "-c"))


def as_module(*arguments: str, **environment: str):
    return run_python("", launcher=(sys.executable, "-m", "torch_aclnn", *arguments), **environment)


def test_the_module_is_the_command():
    done = as_module("config", "--libdir")
    assert done.returncode == 0 and done.stdout.splitlines()[-1] == str(libdir())
    assert as_module("foo").returncode == 2


def test_the_command_works_where_torch_does_not_import(tmp_path):
    (tmp_path / "torch.py").write_text("raise ImportError('no torch')")
    path = f"{tmp_path}:{Path(torch_aclnn.__file__).parents[1]}"
    assert output_of("", launcher=(COMMAND, "config", "--libdir"), PYTHONPATH=path) == str(libdir())
    assert as_module("config", "--libdir", PYTHONPATH=path).returncode == 1


@pytest.mark.parametrize(("arguments", "said"), [(["unlink"], "is now link --remove"), (["check", "--soak", "500"], "trains no network")])
def test_what_earlier_releases_had_is_refused_with_what_there_is_now(arguments, said):
    done = run_python("", launcher=(COMMAND, *arguments))
    assert done.returncode == 2 and said in done.stderr.splitlines()[-1]
