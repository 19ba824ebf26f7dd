"""What SECURITY.md promises: which libraries are loaded, what is written, who listens, what a child inherits."""

import os
import re
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import torch_aclnn
import pytest
import torch
from torch_aclnn.loading.paths import libdir

from support.compiler import shared_library
from support.subprocesses import COMMAND, environment_with, output_of, run_python

PACKAGE = Path(torch_aclnn.__file__).parent
LIBRARIES = sorted([*libdir().glob("*.so*"), *PACKAGE.glob("_C*.so")])

TRAIN = """
import torch
model = torch.nn.Sequential(torch.nn.Conv2d(1, 2, 3), torch.nn.AvgPool2d(2), torch.nn.Flatten(), torch.nn.Linear(18, 1)).npu()
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for _ in range(2):
    optimizer.zero_grad()
    model(torch.ones(2, 1, 8, 8).npu()).square().mean().backward()
    optimizer.step()
torch.npu.synchronize()
"""

# What a shell would run, or split, if it were not quoted.
HOSTILE = [
    "with space",
    "$(touch harm)",
    "`touch harm`",
    "'; touch harm; '",
    '"; touch harm; "',
    "a\nb",
    "*",
    "\\",
    "~",
    "!",
    "-n",
    "&",
    "é",
]


def dynamic_section(library: Path) -> str:
    """Return what readelf shows of the library."""
    if shutil.which("readelf") is None:
        pytest.skip("no readelf on the path")
    return subprocess.run(["readelf", "-dW", str(library)], capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("library", LIBRARIES, ids=lambda path: path.name)
def test_a_library_searches_beside_itself_only(library):
    section = dynamic_section(library)
    searched = re.findall(r"\((?:RPATH|RUNPATH)\).*\[(.*)\]", section)
    # What computes also finds torch's libraries: beside the package, or, of a source tree, where torch is installed.
    torch_libraries = Path(torch.__file__).parent / "lib"
    computing = [f"$ORIGIN:{place}" for place in ("$ORIGIN/../../../torch/lib", torch_libraries)]
    assert searched in (["$ORIGIN"], ["$ORIGIN/toolkit/lib64"]) or (library.name == "libaclnn_math.so" and searched[0] in computing)
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", section)
    assert needed and all("/" not in name for name in needed)


@pytest.mark.parametrize("path", [libdir(), *LIBRARIES], ids=lambda path: path.name)
def test_a_library_can_only_be_changed_by_who_installed_it(path):
    assert not path.stat().st_mode & stat.S_IWOTH


@pytest.fixture(scope="module")
def hostile_directory(tmp_path_factory) -> Path:
    """Return a directory with libraries and modules that tell that they were loaded."""
    directory = tmp_path_factory.mktemp("hostile")
    source = directory / "hostile.c"
    source.write_text('#include <stdio.h>\n__attribute__((constructor)) static void tell(void) { puts("HARM"); }\n')
    library = shared_library(source, directory / "libhostile.so", ["-O0"], [])
    names = [path.name for path in libdir().glob("*.so")] + ["libcust_opapi.so", "libmspti.so"]
    inside = directory / "op_api" / "lib"
    inside.mkdir(parents=True)
    for name in names:
        shutil.copy(library, directory / name)
        shutil.copy(library, inside / name)
    for name in ("torch", "torch_npu", "torch_aclnn", "torch_aclnn_command", "torch_aclnn_import_hook", "json", "subprocess"):
        (directory / f"{name}.py").write_text("print('HARM')\n")
    return directory


@pytest.mark.parametrize("variables", [(), ("ASCEND_CUSTOM_OPP_PATH", "ASCEND_OPP_DEBUG_PATH", "ASCEND_AICPU_PATH", "ASCEND_OPP_PATH")])
def test_nothing_is_loaded_from_the_working_directory_or_from_paths_meant_for_cann(hostile_directory, tmp_path, variables):
    script = tmp_path / "train.py"
    script.write_text(TRAIN + "print('trained')\n")
    environment = environment_with(TORCH_ACLNN_ENGINE="host", **dict.fromkeys(variables, str(hostile_directory)))
    done = subprocess.run(
        [sys.executable, str(script)], cwd=hostile_directory, env=environment, capture_output=True, text=True, timeout=300
    )
    assert (done.returncode, done.stdout) == (0, "trained\n"), done.stderr


@pytest.mark.parametrize(
    "arguments", [["env"], ["config", "--libs"], ["run", "-I", "-c", "import torch; print(torch.ones(2).npu().sum().item())"]]
)
def test_the_command_takes_nothing_from_the_working_directory(hostile_directory, arguments):
    done = subprocess.run([COMMAND, *arguments], cwd=hostile_directory, env=environment_with(), capture_output=True, text=True, timeout=300)
    assert done.returncode == 0 and "HARM" not in done.stdout, done.stderr


def test_info_takes_nothing_from_the_working_directory_and_leaves_no_file(hostile_directory, tmp_path):
    environment = environment_with(TMPDIR=str(tmp_path))
    done = subprocess.run([COMMAND, "info"], cwd=hostile_directory, env=environment, capture_output=True, text=True, timeout=300)
    assert "HARM" not in done.stdout + done.stderr
    assert list(tmp_path.iterdir()) == []


def test_an_empty_part_of_the_library_path_is_dropped_for_it_means_the_working_directory():
    code = "import torch_aclnn, os; print(os.environ['LD_LIBRARY_PATH'])"
    assert "" not in output_of(code, LD_LIBRARY_PATH=":/usr/lib::").split(":")


@pytest.mark.parametrize("shell", ["sh", "bash", "dash", "zsh"])
@pytest.mark.parametrize("hostile", [*HOSTILE, b"not utf-8 \xff".decode(errors="surrogateescape")], ids=ascii)
def test_what_env_prints_is_quoted(tmp_path, shell, hostile):
    if shutil.which(shell) is None:
        pytest.skip(f"no {shell} on the path")
    program = f'eval "$({COMMAND} env)" && exec {sys.executable} -I -S -c "$SHOW"'
    show = 'import os; print(ascii([os.environ[name] for name in ("PATH", "LD_LIBRARY_PATH")]))'
    paths = environment_with(PATH=f"{os.environ['PATH']}:/{hostile}", LD_LIBRARY_PATH=f"/{hostile}", SHOW=show)
    done = subprocess.run([shell, "-c", program], cwd=tmp_path, env=paths, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    path, library_path = eval(done.stdout)
    assert path.endswith(f":/{hostile}") and library_path == f"{libdir()}:/{hostile}"
    assert list(tmp_path.iterdir()) == []


def test_a_training_listens_nowhere_and_leaves_no_files(tmp_path):
    code = f"{TRAIN}\nfrom sockets import listening_addresses\nprint(listening_addresses())"
    helpers = (Path(__file__).parents[1] / "distributed") / "programs"
    script = tmp_path / "train.py"
    script.write_text(f"import sys\nsys.path.append({str(helpers)!r})\n{code}")
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    done = subprocess.run(
        [sys.executable, str(script)],
        cwd=temporary,
        # torch's optimizers import its compiler, which makes this directory.
        env=environment_with(TMPDIR=str(temporary), TORCHINDUCTOR_CACHE_DIR=str(tmp_path / "inductor")),
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert (done.returncode, done.stdout) == (0, "[]\n"), done.stderr
    assert [path.name for path in temporary.iterdir()] == []


# Descriptors that a child would inherit, by what they are.
INHERITED = """
import fcntl, os
def inherited():
    found = {}
    for name in os.listdir("/proc/self/fd"):
        try:
            if not fcntl.fcntl(int(name), fcntl.F_GETFD) & fcntl.FD_CLOEXEC:
                found[name] = os.readlink(f"/proc/self/fd/{name}")
        except OSError:
            pass
    return found
before = inherited()
"""


def test_children_inherit_no_descriptor_of_the_engine(tmp_path):
    settings = {
        "TORCH_ACLNN_HOST_TRACE": str(tmp_path / "trace"),
        "TORCH_ACLNN_HOST_COVERAGE": str(tmp_path),
        "PYTORCH_NPU_ALLOC_CONF": "expandable_segments:True",
    }
    code = f"{INHERITED}\n{TRAIN}\nprint({{link for name, link in inherited().items() if name not in before}})"
    # The queue of torch_npu has three eventfds.
    assert eval(output_of(code, **settings).splitlines()[-1]) <= {"anon_inode:[eventfd]"}
    assert (tmp_path / "trace").stat().st_size > 0 and list(tmp_path.glob("*.calls"))


def test_files_are_for_their_owner_alone(tmp_path):
    settings = {"TORCH_ACLNN_HOST_TRACE": str(tmp_path / "trace"), "TORCH_ACLNN_HOST_COVERAGE": str(tmp_path)}
    output_of(f"import os; os.umask(0)\n{TRAIN}", **settings)
    assert {stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()} == {0o600}


@pytest.mark.parametrize(("variable", "file"), [("TORCH_ACLNN_HOST_COVERAGE", ""), ("TORCH_ACLNN_HOST_TRACE", "/%p.calls")])
def test_files_do_not_follow_a_link_that_was_there_before(tmp_path, variable, file):
    victim = tmp_path / "victim"
    directory = tmp_path / "coverage"
    directory.mkdir()
    code = f"""
    import os
    os.symlink({str(victim)!r}, os.path.join({str(directory)!r}, f"{{os.getpid()}}.calls"))
    import torch_aclnn, torch
    torch.npu.init()
    """
    assert f"{variable}: cannot write" in run_python(code, **{variable: f"{directory}{file}"}).stderr
    assert not victim.exists()
