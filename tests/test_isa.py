"""The kernels of every instruction set give the same bits, for any number of threads; each in a process of its own."""

import sys
from pathlib import Path

import pytest
import torch

from support.samples import bits
from support.subprocesses import output_of, run_python

SETS = ("scalar", "baseline", "avx2", "avx512")
SCRIPT = Path(__file__).parent / "support" / "instruction_sets.py"


def results(path: Path, isa: str, threads: int) -> list[torch.Tensor]:
    """Run the cases with an instruction set; skip the test if this machine lacks it."""
    done = run_python("", launcher=(sys.executable, str(SCRIPT), str(path), str(threads)), TORCH_ACLNN_ISA=isa)
    if "expected an instruction set of this machine" in done.stderr:
        pytest.skip(f"this machine has no {isa}")
    assert done.returncode == 0, done.stderr[-4000:]
    return torch.load(path)


@pytest.fixture(scope="module")
def scalar(tmp_path_factory):
    return results(tmp_path_factory.mktemp("isa") / "scalar.pt", "scalar", 1)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("isa", SETS[1:])
def test_vector_loops_give_the_bits_of_the_scalar_ones(isa, threads, scalar, tmp_path):
    vector = results(tmp_path / "vector.pt", isa, threads)
    assert len(vector) == len(scalar) > 100
    for i, (got, expected) in enumerate(zip(vector, scalar, strict=True)):
        assert torch.equal(got.isnan(), expected.isnan()), f"nan in case {i}"
        assert torch.equal(bits(got), bits(expected)), f"case {i}, shape {tuple(expected.shape)}, {expected.dtype}"


def test_the_cases_hold_what_vectors_treat_apart(scalar):
    assert any(result.is_floating_point() and result.isnan().any() for result in scalar)
    assert {result.dtype for result in scalar} >= {torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.complex64, torch.int8}


@pytest.mark.parametrize("isa", ["scalar", "baseline"])
def test_the_chosen_one_is_named(isa):
    assert output_of("import torch_aclnn; print(torch_aclnn._C.isa())", TORCH_ACLNN_ISA=isa) == isa


def test_an_unknown_one_is_refused_when_the_package_is_imported():
    error = run_python("import torch_aclnn", TORCH_ACLNN_ISA="sse9").stderr
    assert "ValueError: TORCH_ACLNN_ISA: expected auto, scalar, baseline, avx2 or avx512, got 'sse9'" in error


def test_info_shows_it():
    command = str(Path(sys.executable).parent / "torch-aclnn")
    assert "instruction set                  scalar" in output_of("", launcher=(command, "info"), TORCH_ACLNN_ISA="scalar")
