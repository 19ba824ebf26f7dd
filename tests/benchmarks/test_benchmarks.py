"""The benchmarks: their arithmetic, their cases and their command lines. Nothing here depends on how fast anything is."""

import importlib.util
import json
import math
from dataclasses import replace
from functools import partial
from pathlib import Path
from unittest.mock import Mock

import pytest
import torch
from torch._dynamo.utils import counters
from torch._inductor.exc import InvalidCxxCompiler
from torch_aclnn._operators import BY_NAME, OPERATORS

from benchmarks import dispatch, distributed, inductor, kernels, machine
from benchmarks.checks import WrongResult, check_ours, check_peer
from benchmarks.families import CASES
from benchmarks.families.adaptive import AdaptiveAvgPool
from benchmarks.families.batch_norm import BatchNormElemt
from benchmarks.families.padding import Pad
from benchmarks.families.pooling import AvgPool
from benchmarks.families.unpooling import MaxUnpool
from benchmarks.figures import Figures, by_group, geometric_mean, large, slower_than_peer
from benchmarks.npu_memory import script
from benchmarks.npu_memory.stacks import Stack
from benchmarks.pairs import autograd_pairs, operator_pairs
from benchmarks.processes import call_in_ranks
from benchmarks.ranks import MIB, Collective, CollectiveTime, Norm, NormTime, measure
from benchmarks.tables import number
from support.marks import of_a2_and_a3

WITHOUT_TRITON = pytest.mark.skipif(
    importlib.util.find_spec("triton") is not None, reason="with Triton torch_npu has inductor call ATen's gather, on cpu too"
)

SMALL = "1x64x7x7"
AVG_POOL2D, UNPOOL3D = partial(AvgPool, operator=BY_NAME["avg_pool2d"]), partial(MaxUnpool, operator=BY_NAME["max_unpool3d"])
QUICK_AND_SMALL = [case.name for case in CASES if case.quick and SMALL in case.name]
ONE_SMALL = f"adaptive_avg_pool2d float32 {SMALL}"
FAST = Figures("pool float32 2x2", "pool", bytes=2**20, ours_ms=2.0, aten_ms=8.0, inductor_ms=4.0)
SLOW = Figures("pad float32 2x2", "pad", bytes=1000, ours_ms=3.0, aten_ms=1.5)
SLOWEST = Figures("pad float32 3x3", "pad", bytes=1000, ours_ms=8.0, aten_ms=2.0)


@pytest.fixture(autouse=True)
def _machine(monkeypatch):
    before = torch.get_num_threads()
    monkeypatch.setattr(machine.OtherPrograms, "share", lambda self: 0.0)  # as if no other program ran
    yield
    torch.set_num_threads(before)


def shrunk(case):
    """The case with at most two samples and three channels; what happens within a plane stays the same."""
    plane_dims = min(case.plane_dims, len(case.shape) - 1)
    lead = case.shape[:-plane_dims]
    return replace(case, shape=(*(min(size, limit) for size, limit in zip(lead, (2, 3), strict=False)), *case.shape[-plane_dims:]))


def test_the_geometric_mean_is_that_of_ratios_and_numbers_have_three_digits():
    assert geometric_mean([2, 8]) == pytest.approx(4)
    assert geometric_mean([0.5, 2]) == pytest.approx(1)
    assert math.isnan(geometric_mean([]))
    assert [number(value) for value in (1234.0, 145.3, 14.53, 0.01453, None, math.nan)] == ["1234", "145", "14.5", "0.0145", "-", "-"]


def test_ratios_are_against_the_better_peer_and_the_ideal():
    assert (FAST.peer_ms, FAST.against_peer) == (4.0, 2.0)
    assert (SLOW.peer_ms, SLOW.against_peer) == (1.5, 0.5)
    assert FAST.ideal_ms(copy_gb_per_s=1.0) == pytest.approx(2**20 / 1e6)
    assert FAST.against_ideal(copy_gb_per_s=1.0) == pytest.approx(2 / 1.048576)


def test_cases_are_sorted_out_and_no_two_have_one_name():
    assert len({case.name for case in CASES}) == len(CASES)
    assert slower_than_peer([FAST, SLOW, SLOWEST]) == [SLOWEST, SLOW]
    assert large([FAST, SLOW]) == [FAST]
    assert by_group([FAST, SLOW, SLOWEST]) == {"pool": [FAST], "pad": [SLOW, SLOWEST]}


@pytest.mark.parametrize(
    ("case", "expected"),
    [
        (AVG_POOL2D(shape=(2, 3, 4, 6), kernel=2, stride=2), 4 * 2 * 3 * (4 * 6 + 2 * 3)),
        (AVG_POOL2D(shape=(3, 5, 5), kernel=2, stride=2, ceil_mode=True, dtype=torch.bfloat16), 2 * 3 * (5 * 5 + 3 * 3)),
        (AdaptiveAvgPool(operator=BY_NAME["adaptive_avg_pool2d"], shape=(2, 3, 4, 6), output_size=(5, 1)), 4 * 2 * 3 * (4 * 6 + 5 * 1)),
        (Pad(operator=BY_NAME["replication_pad2d"], shape=(2, 3, 4, 6), padding=(1, 2, 3, 0)), 4 * 2 * 3 * (4 * 6 + 7 * 9)),
        # An index of 8 bytes and an element written for each window, and the lines of 64 bytes that hold what is picked: one of the two of
        # a plane, both, and the only one, which four windows share.
        (UNPOOL3D(shape=(2, 3, 2, 4, 4), kernel=(2, 4, 4)), (8 + 4 + 64) * 2 * 3),
        (UNPOOL3D(shape=(2, 3, 2, 4, 4), kernel=(1, 4, 4)), (8 + 4 + 64) * 2 * 3 * 2),
        (UNPOOL3D(shape=(2, 3, 2, 4, 4), kernel=(2, 2, 2), dtype=torch.bfloat16), ((8 + 2) * 4 + 64) * 2 * 3),
        # Three tensors of the full size, five vectors of 3 channels and one count.
        (BatchNormElemt(operator=BY_NAME["batch_norm_elemt"], shape=(2, 3, 4)), 4 * 3 * 2 * 3 * 4 + 4 * 5 * 3 + 4),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_the_bytes_that_must_move_are_those_counted_by_hand(case, expected):
    assert case.work().bytes == expected


def test_each_operator_has_cases_and_some_of_them_are_quick():
    assert {case.operator for case in CASES if case.quick} == set(OPERATORS)


@pytest.mark.parametrize("operator", OPERATORS, ids=lambda operator: operator.name)
def test_each_case_builds_and_our_result_is_atens(operator):
    for case in CASES:
        if case.operator == operator:
            work = shrunk(case).work()
            assert work.out.is_contiguous(memory_format=case.memory_format), case.name
            check_ours(work)
            check_peer(work, "ATen", work.aten)


@pytest.mark.parametrize("check", [check_ours, lambda work: check_peer(work, "theirs", work.ours)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_wrong_result_is_noticed(check, dtype):
    work = AVG_POOL2D(shape=(1, 1, 4, 4), kernel=2, stride=2, dtype=dtype).work()
    check(work)
    with pytest.raises(WrongResult, match=r"(ours|theirs) is off by up to \d\.\d+ where values reach 0\.\d+"):
        check(replace(work, ours=lambda: work.out.fill_(1.0)))


@pytest.mark.parametrize(
    ("main", "arguments", "message"),
    [
        (kernels.main, "--compare missing.json", "--compare: missing.json: No such file or directory"),
        (kernels.main, "--filter conv2d", f"--filter: no case's name contains 'conv2d'; names look like '{CASES[0].name}'"),
        (kernels.main, "--threads 0", "--threads: expected at least 1, got 0"),
        (kernels.main, "--json no/folder/x.json", "--json: expected a file in a folder that can be written, got no/folder/x.json"),
        (dispatch.main, "--json no/folder/x.json", "--json: expected a file in a folder that can be written, got no/folder/x.json"),
        (distributed.main, "--json no/folder/x.json", "--json: expected a file in a folder that can be written, got no/folder/x.json"),
    ],
)
def test_a_bad_command_line_ends_with_a_message(capsys, main, arguments, message):
    with pytest.raises(SystemExit) as ended:
        main(arguments.split())
    assert ended.value.code == 2
    assert f"{message} (see python -m benchmarks." in capsys.readouterr().err


def test_a_quick_run_writes_its_figures_and_says_what_it_left_out(tmp_path, capsys):
    path = tmp_path / "figures.json"
    assert kernels.main(["--quick", "--filter", SMALL, "--threads", "1", "--json", str(path)]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert f"quick: {len(QUICK_AND_SMALL)} of {len(CASES)} cases" in text and "inductor: not measured, left out by --quick" in text
    document = json.loads(path.read_text())
    assert document["machine"]["threads"] == 1 and document["how"]["complete"]
    assert [case["name"] for case in document["cases"]] == QUICK_AND_SMALL
    assert kernels.main(["--quick", "--filter", ONE_SMALL, "--compare", str(path)]) == 0
    assert "old / new is" in capsys.readouterr().out


def test_an_interruption_keeps_what_was_measured(capsys, monkeypatch):
    def measure(run, case):
        if run.cases:
            raise KeyboardInterrupt
        run.cases.append(FAST)
        run.copy.sample(1)

    monkeypatch.setattr(kernels.Run, "measure", measure)
    assert kernels.main(["--quick", "--filter", SMALL]) == 130
    text = capsys.readouterr().out
    assert f"interrupted after 1 of {len(QUICK_AND_SMALL)} cases" in text and FAST.group in text and FAST.label in text


def test_a_case_whose_result_is_wrong_is_named_and_not_timed(capsys, monkeypatch):
    monkeypatch.setattr(kernels, "check_ours", Mock(side_effect=WrongResult("ours is off")))
    assert kernels.main(["--quick", "--filter", ONE_SMALL]) == 1
    assert f"no times of {ONE_SMALL} to 1x1: ours is off" in capsys.readouterr().out


def test_without_a_compiler_inductor_is_left_out_with_a_message(capsys, monkeypatch):
    monkeypatch.setattr(inductor, "get_cpp_compiler", Mock(side_effect=InvalidCxxCompiler))
    assert kernels.main(["--filter", ONE_SMALL]) == 0
    assert "inductor: not measured, no C++ compiler was found (install g++, or name one in CXX)" in capsys.readouterr().out


def test_a_peer_that_inductor_gets_wrong_does_not_count(monkeypatch):
    case = AVG_POOL2D(shape=(1, 1, 4, 4), kernel=2, stride=2)
    monkeypatch.setattr(inductor, "compile_case", lambda work: (lambda: work.out.fill_(1.0), False))
    run = kernels.Run(rounds=1, with_inductor=True)
    run.measure(case)
    assert run.cases[0].inductor_ms is None and not run.failed
    assert run.notes[0].startswith(f"inductor fails on {case.name}: inductor is off by")


@pytest.mark.exhaustive
@pytest.mark.parametrize("operator", [pytest.param("max_unpool3d", marks=WITHOUT_TRITON), "batch_norm_elemt", "adaptive_avg_pool2d"])
def test_inductor_compiles_the_formula_or_calls_aten(operator):
    work = shrunk(next(case for case in CASES if case.operator.name == operator)).work()
    call, calls_aten = inductor.compile_case(work)
    assert calls_aten == (operator == "adaptive_avg_pool2d")
    check_peer(work, "inductor", call)


@pytest.fixture
def _compiler_settings():
    """Those that inductor.prepare() makes are for the whole process."""
    with (
        torch._dynamo.config.patch(error_on_recompile=False, suppress_errors=False),
        torch._functorch.config.patch(enable_autograd_cache=True),
        torch._inductor.config.patch(compile_threads=1, fx_graph_cache=True),
    ):
        yield


@pytest.mark.exhaustive
@pytest.mark.usefixtures("_compiler_settings")
def test_inductor_takes_no_graph_that_another_run_kept():
    """Which may be for other instructions, and writes behind its result then."""
    work = shrunk(next(case for case in CASES if case.operator.name == "batch_norm_elemt")).work()
    inductor.prepare()
    for _ in range(2):
        inductor.compile_case(work)
        assert counters["inductor"]["fxgraph_cache_hit"] == 0


def test_both_ways_of_each_call_give_the_same(device):
    # ATen has no CPU kernel for some of the operators.
    pairs = {**autograd_pairs(device), **(operator_pairs(device) if device == "npu" else {})}
    for name, (ours, theirs) in pairs.items():
        # Our out overloads return nothing.
        results = [(call.keywords["out"] if (new := call()) is None else new).cpu().flatten() for call in (ours, theirs)]
        torch.testing.assert_close(*results, msg=lambda text, name=name: f"{name}: {text}")


@pytest.mark.exhaustive
def test_calling_costs_are_measured_in_each_mode(tmp_path):
    path = tmp_path / "costs.json"
    assert dispatch.main(["--quick", "--json", str(path)]) == 0
    written = json.loads(path.read_text())
    costs = written["costs"]
    assert {cost["setting"] for cost in costs} == set(dispatch.SETTINGS)
    assert {cost["name"] for cost in costs if cost["kind"] == dispatch.OPERATORS} == set(operator_pairs("npu"))
    assert all(cost["ratio"] == cost["ours_us"] / cost["theirs_us"] > 0 for cost in costs)


@of_a2_and_a3
def test_ranks_measure_collectives_and_layers_and_an_error_of_theirs_ends_the_run():
    collectives, norm = [Collective(name, 64, "bfloat16") for name in distributed.NAMES], Norm((2, 3, 4))
    times, layers = call_in_ranks(measure, 2, collectives, [norm], True, 1)
    assert [time.case for time in times] == collectives and [time.case for time in layers] == [norm]
    assert all(time.ranks == 2 and min(time.hccl, time.gloo, time.hccl_in_a_row, time.gloo_in_a_row) > 0 for time in times)
    assert all(layer.ours > 0 and layer.theirs > 0 for layer in layers)
    with pytest.raises(RuntimeError, match="a rank of 1 ended early"):
        call_in_ranks(measure, 1, [Collective("AllReduce", 4, "float3")], [], True, 1)


def collective_time(case, ranks=2, compared=True):
    return CollectiveTime(case, ranks, compared, hccl=3e-4, gloo=1e-4, hccl_in_a_row=4e-4, gloo_in_a_row=3e-4)


def test_the_tables_of_distributed_fit_into_80_columns_and_state_ratios(capsys, monkeypatch):
    found = {True: [collective_time(Collective("ReduceScatter", size, "bfloat16")) for size in (4, 16 * MIB)], False: []}

    def run(job, rounds, results):
        results.collectives += found[job.compared] + [collective_time(case, job.ranks) for case in distributed.FOR_RANKS[0]]
        results.norms += [NormTime(case, job.ranks, ours=2e-3, theirs=4e-3) for case in distributed.FOR_RANKS[1]]

    monkeypatch.setattr(distributed.Job, "run", run)
    monkeypatch.setattr(distributed.os, "sched_getaffinity", lambda process: {0, 1})
    assert distributed.main([]) == 0
    text = capsys.readouterr().out
    tables = [line for line in text.splitlines() if "  " in line.strip()]
    assert max(len(line.rstrip()) for line in tables) <= 80
    flat = " ".join(text.split())
    assert "ReduceScatter 16 MiB bfloat16 300 100 200 41943 55924 0.75" in flat
    assert "below 1 MiB a call takes 200 us longer over hccl in the median" in flat and "0.75 at worst" in flat
    assert "SyncBatchNorm float32 16x64x16x16 2000 / 4000 2000 / 4000 2000 / 4000" in flat
    assert "this machine has 2 cores: where there are more ranks they take turns" in flat


@pytest.mark.slow
def test_a_quick_run_of_distributed_writes_its_figures(tmp_path):
    path = tmp_path / "distributed.json"
    assert distributed.main(["--quick", "--json", str(path)]) == 0
    document = json.loads(path.read_text())
    assert {(entry["case"]["name"], entry["compared"]) for entry in document["collectives"]} == {
        (name, compared) for name in distributed.NAMES for compared in (True, False)
    }
    assert all(entry["throughput_ratio"] == entry["gloo_in_a_row"] / entry["hccl_in_a_row"] for entry in document["collectives"])
    assert all(entry["ratio"] == entry["ours"] / entry["theirs"] > 0 for entry in document["batch_norm"])


def test_of_an_option_that_a_script_gives_twice_the_last_counts():
    arguments = ["--transformer-impl", "transformer_engine", "--lr", "1", "--transformer-impl", "local"]
    assert script._with_own_data("pretrain_gpt.py", arguments, "llama2", Path()) == ["--lr", "1", "--transformer-impl", "local"]


def test_a_script_changes_nothing_of_the_machine(tmp_path):
    kept, tests = tmp_path / "kept", tmp_path / "tests"
    kept.mkdir()
    tests.mkdir()
    (tests / "one.sh").write_text(
        f"rm -rf {kept}; pip install no-such-package && torchrun --nproc_per_node 2 train.py --lr 1 --load checkpoint"
    )
    started = script.command(Stack(tmp_path, tmp_path, tmp_path), "one", tmp_path)
    assert (started.program, started.arguments, started.ranks) == ("train.py", ["--lr", "1"], 2)
    assert kept.exists()
