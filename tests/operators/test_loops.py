"""Each loop of the kernels gives the bits of the definition, in each instruction set and on any number of threads."""

import sys
from pathlib import Path

import torch_aclnn  # noqa: F401
import pytest
import torch
from torch.ops import torch_aclnn as ops

from support.samples import bits
from support.sized_cases import CASES, gradient_of
from support.subprocesses import COMMAND, output_of, run_python

SETS = ("baseline", "avx2", "avx512")
LOOPS = ("full_width", "volumes", "channels", "planes", "rows")
LOOPS_OF_GATHERS = ("transposed",)
SCRIPT = Path(__file__).parents[1] / "support" / "loop_cases.py"


def run_loops(directory: Path, isa: str, threads: int, loops: tuple[str, ...]) -> dict[str, tuple[list[torch.Tensor], list[str]]]:
    """Return the results of the loops and which loop made each; skip the test if this machine lacks the instruction set."""
    done = run_python("", launcher=(sys.executable, str(SCRIPT), str(directory), str(threads), *loops), TORCH_ACLNN_ISA=isa)
    if "expected an instruction set of this machine" in done.stderr:
        pytest.skip(f"this machine has no {isa}")
    assert done.returncode == 0, done.stderr[-4000:]
    return {loop: torch.load(directory / f"{loop}.pt") for loop in ("auto", *loops)}


@pytest.fixture(scope="module")
def definition(tmp_path_factory):
    results, loops = run_loops(tmp_path_factory.mktemp("loops"), "scalar", 1, ())["auto"]
    assert set(loops) == {"scalar"}
    assert any(result.is_floating_point() and result.isnan().any() for result in results)
    return results


@pytest.mark.parametrize("isa", SETS)
def test_each_loop_gives_the_bits_of_the_definition(isa, definition, tmp_path):
    named = LOOPS if isa == "baseline" else LOOPS + LOOPS_OF_GATHERS
    for loop, (results, loops) in run_loops(tmp_path, isa, 2, named).items():
        assert loop in ("auto", *loops), f"{loop} made none of the calls"
        assert loop != "auto" or len(results) == len(definition)  # the other loops are those of pooling and padding
        for i, (got, expected) in enumerate(zip(results, definition, strict=False)):
            same = torch.equal(*(t.view(-1).view(torch.uint8) for t in (got, expected)))  # in most calls each nan, too
            same = same or (torch.equal(got.isnan(), expected.isnan()) and torch.equal(bits(got), bits(expected)))
            assert same, f"call {i} by {loops[i]} where {loop} is named: shape {tuple(expected.shape)}, {expected.dtype}"


def test_an_unknown_loop_is_refused_when_the_package_is_imported():
    error = run_python("import torch_aclnn", TORCH_ACLNN_LOOP="fastest").stderr
    names = "auto, full_width, transposed, volumes, channels, planes, rows or scalar"
    assert f"ValueError: TORCH_ACLNN_LOOP: expected {names}, got 'fastest'" in error


@pytest.mark.parametrize("isa", ["scalar", "baseline"])
def test_the_chosen_instruction_set_is_named(isa):
    assert output_of("import torch_aclnn; print(torch_aclnn._C.isa())", TORCH_ACLNN_ISA=isa) == isa


def test_an_unknown_instruction_set_is_refused_when_the_package_is_imported():
    error = run_python("import torch_aclnn", TORCH_ACLNN_ISA="sse9").stderr
    assert "ValueError: TORCH_ACLNN_ISA: expected auto, scalar, baseline, avx2 or avx512, got 'sse9'" in error


def test_info_shows_the_instruction_set():
    assert "instruction set                  scalar" in output_of("", launcher=(COMMAND, "info"), TORCH_ACLNN_ISA="scalar")


@pytest.fixture
def thread_count():
    """Return what sets the number of threads for the rest of the test."""
    before = torch.get_num_threads()
    yield torch.set_num_threads
    torch.set_num_threads(before)


@pytest.mark.parametrize("channels_last", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_results_do_not_depend_on_the_number_of_threads(name, channels_last, thread_count):
    """Each thread has a part of its own that begins within rows or planes."""
    size, backward = CASES[name]
    gradient = gradient_of(5, size, torch.bfloat16, channels_last)
    thread_count(1)
    expected = backward(gradient)
    for count in (2, 3, 7):
        thread_count(count)
        assert torch.equal(backward(gradient), expected), f"{count} threads"


def test_the_first_bad_index_is_named_by_any_number_of_threads(thread_count):
    indices = torch.arange(320).expand(64, 8, -1).contiguous().view(64, 8, 8, 8, 5)
    indices[20, 3, 2, 1, 4], indices[20, 3, 2, 2, 0], indices[63, 7, 7, 7, 4] = 2560, -1, 9999
    for count in (1, 2, 3, 7):
        thread_count(count)
        with pytest.raises(RuntimeError, match=r"got 2560 at position \[20, 3, 2, 1, 4\]"):
            ops.max_unpool3d_backward(torch.randn(64, 8, 16, 16, 10), indices, [16, 16, 10], [2, 2, 2], [0, 0, 0])
