"""Benchmarks of cases drawn at random, and of training steps. Nothing here depends on how fast anything is."""

import dataclasses
import json
from unittest.mock import Mock

import pytest
import torch
from torch._inductor.exc import InvalidCxxCompiler
from torch_aclnn._operators import OPERATORS

from benchmarks import inductor, kernels, machine, training
from benchmarks.checks import check_ours, check_peer
from benchmarks.draw import DTYPES, LARGEST_BYTES
from benchmarks.families import random_cases
from benchmarks.networks import WORKLOADS

CASES = random_cases(10 * len(OPERATORS), seed=0)


@pytest.fixture(autouse=True)
def _machine(monkeypatch):
    monkeypatch.setattr(machine.OtherPrograms, "share", lambda self: 0.0)  # as if no other program ran


def test_a_seed_draws_the_same_cases_and_another_one_others():
    assert [case.name for case in random_cases(len(CASES), seed=0)] == [case.name for case in CASES]
    assert {case.name for case in random_cases(len(CASES), seed=1)}.isdisjoint(case.name for case in CASES)


def test_cases_of_each_operator_dtype_layout_and_size_are_drawn():
    assert {case.operator for case in CASES} == set(OPERATORS)
    assert {case.dtype for case in CASES} == set(DTYPES) and {case.channels_last for case in CASES} == {True, False}
    sizes = [torch.empty(case.shape, device="meta", dtype=case.dtype).nbytes for case in CASES]
    assert min(sizes) < 2**12 and 2**24 < max(sizes) <= LARGEST_BYTES


@pytest.mark.parametrize("operator", OPERATORS, ids=lambda operator: operator.name)
def test_each_random_case_builds_and_our_result_is_atens(operator):
    for case in CASES:
        if case.operator == operator:
            lead = tuple(min(size, 3) for size in case.shape[: -case.plane_dims])
            work = dataclasses.replace(case, shape=(*lead, *case.shape[-case.plane_dims :])).work()
            check_ours(work)
            check_peer(work, "ATen", work.aten)


def test_a_run_of_random_cases_says_in_how_many_ours_is_ahead(capsys, monkeypatch, tmp_path):
    monkeypatch.setattr(inductor, "get_cpp_compiler", Mock(side_effect=InvalidCxxCompiler))
    path = tmp_path / "figures.json"
    chosen = [case.name for case in random_cases(len(OPERATORS), seed=5) if "reflection_pad2d" in case.name]
    assert kernels.main(["--random", str(len(OPERATORS)), "--seed", "5", "--filter", "reflection_pad2d", "--json", str(path)]) == 0
    assert "ahead of the best peer: " in capsys.readouterr().out
    assert [case["name"] for case in json.loads(path.read_text())["cases"]] == chosen


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--random 0", "--random: expected at least 1, got 0"),
        ("--random 3 --quick", "--random: expected no --quick, which selects from the fixed cases"),
    ],
)
def test_random_cases_that_cannot_be_drawn_are_refused(capsys, arguments, message):
    with pytest.raises(SystemExit):
        kernels.main(arguments.split())
    assert f"benchmarks.kernels: {message} (see" in capsys.readouterr().err


def test_each_workload_has_the_same_result_on_cpu_and_npu_also_once_converted():
    for workload in WORKLOADS:
        expected = workload.start("cpu", False)()
        tolerance = 1e-2 if "bfloat16" in workload.name else 1e-3
        for converted in (False, True):
            assert workload.start("npu", converted)() == pytest.approx(expected, rel=tolerance), workload.name


@pytest.mark.slow
def test_the_times_of_steps_are_printed_and_written_and_those_above_the_limit_by_entry_point(capsys, monkeypatch, tmp_path):
    decoding = dataclasses.replace(WORKLOADS[-1], limit=0)
    monkeypatch.setattr(training, "WORKLOADS", (decoding,))
    monkeypatch.setattr(training, "CONTENDERS", dict([*training.CONTENDERS.items()][:3]))
    path = tmp_path / "training.json"
    assert training.main(["--quick", "--json", str(path)]) == 0
    printed = capsys.readouterr().out
    assert f"{decoding.name}: aclnn" in printed
    (case,) = json.loads(path.read_text())["cases"]
    assert case["workload"] == decoding.name and list(case["milliseconds"]) == list(training.CONTENDERS)
    assert min(case["milliseconds"].values()) > 0
