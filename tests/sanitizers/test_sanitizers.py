"""Programs of several threads, and the example of a client, under the sanitizers and valgrind."""

import shutil
from pathlib import Path

import pytest
from torch_aclnn.loading.paths import libdir

from support.sanitized import ROOT, program, run, sanitized_engine

HERE = Path(__file__).parent
CLIENT = HERE.parents[1] / "examples" / "aclnn_client.cpp"
PROGRAMS = ("runtime_threads", "operator_threads")
STREAMS = {"at once": {}, "asynchronous": {"TORCH_ACLNN_HOST_MODE": "async"}, "delayed": {"TORCH_ACLNN_HOST_DELAYS": "7"}}
ALL_STREAMS = pytest.mark.parametrize("streams", STREAMS.values(), ids=STREAMS)
EACH_PROGRAM = pytest.mark.parametrize("name", PROGRAMS)
EACH_SANITIZER = pytest.mark.parametrize("sanitizers", ["thread", "address,undefined"])


@pytest.fixture(scope="session")
def programs(tmp_path_factory):
    """Return a function that compiles a program with sanitizers, once."""
    directory = tmp_path_factory.mktemp("sanitizers")

    def compile_once(sources: list[Path], sanitizers: str) -> Path:
        target = directory / f"{sources[0].stem}-{sanitizers}"
        if target.exists():
            return target
        libraries = sanitized_engine(sanitizers) if sanitizers else libdir()
        return program(sources, target, libraries, *([f"-fsanitize={sanitizers}"] if sanitizers else []))

    return compile_once


def threads(programs, name: str, sanitizers: str) -> Path:
    return programs([HERE / f"{name}.cpp", HERE / "clocklock.cpp"], sanitizers)


def end_well(ended) -> None:
    assert (ended.returncode, ended.stdout) == (0, "ended well\n"), ended.stderr[:8000]


@ALL_STREAMS
@EACH_PROGRAM
def test_threads_share_the_engine(programs, name, streams):
    end_well(run(threads(programs, name, ""), 50, **streams))


@ALL_STREAMS
@EACH_PROGRAM
def test_no_race_in_a_few_rounds(programs, name, streams):
    end_well(run(threads(programs, name, "thread"), 5, **streams))


@pytest.mark.exhaustive
@EACH_SANITIZER
@ALL_STREAMS
@EACH_PROGRAM
def test_nothing_is_found_in_many_rounds(programs, name, streams, sanitizers):
    end_well(run(threads(programs, name, sanitizers), 200, **streams))


@pytest.mark.exhaustive
@EACH_SANITIZER
def test_nothing_is_found_in_the_client(programs, sanitizers):
    ended = run(programs([CLIENT], sanitizers))
    assert ended.returncode == 0, ended.stderr[:8000]


# The stack of a thread that lives until the end counts as possibly lost.
VALGRIND = ("--error-exitcode=99", "--leak-check=full", "--errors-for-leak-kinds=definite,indirect", "--show-leak-kinds=definite,indirect")


def under_valgrind(path: Path, *arguments: object, **settings: str) -> None:
    valgrind = shutil.which("valgrind")
    if valgrind is None:
        pytest.skip("no valgrind on the path")
    ended = run(valgrind, *VALGRIND, path, *arguments, OMP_NUM_THREADS="1", **settings)
    assert ended.returncode == 0, ended.stderr[-8000:]
    assert "ERROR SUMMARY: 0 errors" in ended.stderr


@pytest.mark.parametrize("streams", [STREAMS["at once"], STREAMS["asynchronous"]], ids=["at once", "asynchronous"])
def test_valgrind_finds_nothing_in_the_client(programs, streams):
    under_valgrind(programs([CLIENT], ""), **streams)


@pytest.fixture(scope="module")
def kernels(tmp_path_factory):
    """Return a program that calls the kernels of the installed library: those in lanes, which the sanitizers' builds do not have."""
    target = tmp_path_factory.mktemp("kernels") / "kernels"
    return program([HERE / "kernels.cpp"], target, libdir(), f"-I{ROOT / 'csrc'}", link=["torch_aclnn_kernels"])


@pytest.mark.parametrize("isa", ["auto", "baseline"])
@pytest.mark.parametrize("count", [40, pytest.param(2000, marks=pytest.mark.exhaustive)])
def test_valgrind_finds_nothing_in_the_kernels(kernels, isa, count):
    under_valgrind(kernels, count, TORCH_ACLNN_ISA=isa)


@pytest.mark.exhaustive
@ALL_STREAMS
@EACH_PROGRAM
def test_valgrind_finds_nothing_in_threads(programs, name, streams):
    under_valgrind(threads(programs, name, ""), 2, **streams)
