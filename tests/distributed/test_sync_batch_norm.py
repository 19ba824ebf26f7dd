"""Synchronised batch norm over 2 and 4 processes against torch's batch norm of the joint batch in one process, in float64."""

import pytest
import torch
from torch_aclnn.loading.modes import host_mode

from support.rank_calls import call_in_ranks, device_of, values_of
from support.sync_batch_norm import ALL_GATHER, CASES, TORCHS_CASES, Case, of_one_process
from support.sync_batch_norm_use import USES

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module", params=[
    pytest.param(("gloo", 2), id="gloo-2"),
    pytest.param(("gloo", 4), id="gloo-4", marks=pytest.mark.exhaustive),
    pytest.param(("hccl", 2), id="hccl-2", marks=pytest.mark.exhaustive),
    pytest.param(("hccl", 4), id="hccl-4"),
])  # fmt: skip
def ranks(request: pytest.FixtureRequest) -> tuple[str, int]:
    """The backend and the number of processes."""
    return request.param


@pytest.fixture(scope="module")
def results(ranks) -> list[dict]:
    """What each process computed or found, by case and use: they are started once for all."""
    backend, size = ranks
    settings = {"backend": backend, "seconds": 600, **host_mode("float64")}
    return values_of(call_in_ranks("support.sync_batch_norm_use:run_all", size, device_of(backend), **settings))


def assert_close(name: str, parts: list[torch.Tensor], exact: torch.Tensor, tolerance: float) -> None:
    """Compare the processes' parts, or the sum of their parts, with the exact values, rounded once in half types."""
    dtype, wide = parts[0].dtype, [part.double() for part in parts]
    summed = name.startswith("gradient of")
    whole = torch.stack(wide).sum(0) if summed else torch.cat(wide)
    assert whole.shape == exact.shape, name
    scale = torch.tensor(max((part.abs().max().item() for part in (*wide, exact) if part.numel()), default=0.0))
    ulp = torch.finfo(dtype).eps if dtype in (torch.float16, torch.bfloat16) else 0.0
    bound = scale * (1e-13 if dtype == torch.float64 else tolerance) + (scale if summed else exact.abs()) * ulp
    assert ((whole - exact).abs() <= bound).all(), f"{name}: {whole} is not {exact}"


def assert_equal_to_one_process(processes: list[dict[str, torch.Tensor]], case: Case) -> None:
    exact = of_one_process(case, len(processes))
    assert all(set(process) == set(exact) for process in processes)
    for name in exact:
        values = [process[name] for process in processes]
        if not name.startswith(("output", "gradient")):  # all processes have the same state, bit by bit
            assert all(torch.equal(value, values[0]) for value in values), name
            values = [values[0].reshape(-1)]
        assert_close(name, values, exact[name] if exact[name].dim() else exact[name][None], case.tolerance)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_equals_one_process_with_the_joint_batch(results, case: Case):
    assert_equal_to_one_process([result[case.name]["results"] for result in results], case)


@pytest.mark.parametrize("case", TORCHS_CASES, ids=lambda case: case.name)
def test_torchs_own_equals_one_process_with_the_joint_batch(ranks, results, case: Case):
    if ranks[0] == "gloo":
        pytest.skip("torch's own refuses cpu tensors")
    assert_equal_to_one_process([result[f"torch's {case.name}"]["results"] for result in results], case)


@pytest.mark.parametrize("name", USES)
def test_use(results, name: str):
    assert all(name in result for result in results)  # a process without a result has raised


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_one_collective_forward_and_one_backward(ranks, results, case: Case):
    backward = ALL_GATHER if ranks[0] == "hccl" and case.dtype == torch.float64 else "all_reduce"  # HCCL does not reduce float64
    forward = [ALL_GATHER] * (1 if case.reentrant is None else 2)  # a checkpoint computes the forward again
    for process in results:
        assert process[case.name]["calls"] == [*forward, backward] * case.batches


@pytest.mark.parametrize("case", [case for case in CASES if case.memory_format != torch.contiguous_format], ids=lambda case: case.name)
def test_memory_format_is_kept(ranks, results, case: Case):
    if ranks[0] == "hccl":
        pytest.skip("results on npu are contiguous, as torch_npu's own")
    for process in results:
        for name in ("output 0", "gradient 0"):
            assert process[case.name]["results"][name].is_contiguous(memory_format=case.memory_format), name
