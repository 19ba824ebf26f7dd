"""The estimate of a step's time: costs by shapes, the timeline, pipelines, chips."""

import json
import math
from collections.abc import Callable
from pathlib import Path

import pytest
from torch_aclnn.timing import communication, trace_file
from torch_aclnn.timing.chip import Chip, ChipError, find, names
from torch_aclnn.timing.costs import cost_of
from torch_aclnn.timing.estimate import NoStep, estimate, summary
from torch_aclnn.timing.formulas import FORMULAS, visible_pairs
from torch_aclnn.timing.launches import Call, read
from torch_aclnn.timing.pipeline import pipeline_of
from torch_aclnn.timing.stages import Program, simulate_stages
from torch_aclnn.timing.timeline import seconds_of, simulate

from support.vocabulary import RECORDS

CHIP = find("A2 376T")


def tensor(*shape: int, dtype: str = "BF16") -> dict[str, object]:
    return {"shape": list(shape), "dtype": dtype, "format": "ND"}


ATTENTION = {"query": tensor(64, 2, 1024), "key": tensor(64, 2, 512), "value": tensor(64, 2, 512), "headNum": 8, "inputLayout": "SBH"}
ALL_KEYS = {"key": tensor(64, 2, 1024), "value": tensor(64, 2, 1024)}
LENGTHS = {"actualSeqQLen": [10, 30], "actualSeqKvLen": [10, 30]}
PACKED = {**dict.fromkeys(("query", "key", "value"), tensor(30, 8, 128)), "headNum": 8, "inputLayout": "TND", **LENGTHS}
CONVOLUTION = {"input": tensor(2, 3, 9, 9), "weight": tensor(8, 3, 3, 3)}


@pytest.mark.parametrize(
    ("name", "arguments", "flops", "unit"),
    [
        ("aclnnMm", {"self": tensor(3, 5), "mat2": tensor(5, 7), "out": tensor(3, 7)}, 2 * 3 * 5 * 7, "cube"),
        ("aclnnMatmul", {"self": tensor(2, 3, 5), "mat2": tensor(5, 7), "out": tensor(2, 3, 7)}, 2 * 2 * 3 * 5 * 7, "cube"),
        ("aclnnBatchMatMul", {"self": tensor(2, 3, 5), "mat2": tensor(2, 5, 7), "out": tensor(2, 3, 7)}, 2 * 2 * 3 * 5 * 7, "cube"),
        ("aclnnAddmm", {"self": tensor(7), "mat1": tensor(3, 5), "mat2": tensor(5, 7), "out": tensor(3, 7)}, 2 * 3 * 5 * 7, "cube"),
        ("aclnnQuantMatmulV4", {"x1": tensor(5, 3), "x2": tensor(7, 5), "scale": tensor(7), "out": tensor(3, 7)}, 2 * 3 * 5 * 7, "cube"),
        ("aclnnGroupedMatmulV4", {"x": [tensor(9, 5)], "weight": [tensor(4, 5, 7)], "out": [tensor(9, 7)]}, 2 * 9 * 5 * 7, "cube"),
        ("aclnnGroupedMatmulV4", {"x": [tensor(5, 9)], "weight": [tensor(9, 7)], "out": [tensor(4, 5, 7)]}, 2 * 9 * 5 * 7, "cube"),
        ("aclnnGroupedMatmul", {"x": [tensor(2, 5)] * 3, "weight": [tensor(5, 7)] * 3, "y": [tensor(2, 7)] * 3}, 3 * 2 * 2 * 5 * 7, "cube"),
        ("aclnnConvolution", {**CONVOLUTION, "out": tensor(2, 8, 7, 7)}, 2 * 784 * 27, "cube"),
        ("aclnnConvolutionBackward", {**CONVOLUTION, "gradOutput": tensor(2, 8, 7, 7), "outputMask": [1, 1, 0]}, 2 * 784 * 27 * 2, "cube"),
        ("aclnnFlashAttentionScore", {**ATTENTION, "sparseMode": 1}, 4 * 2 * 8 * 64 * 64 * 128, "attention"),
        ("aclnnFlashAttentionScore", {**ATTENTION, **ALL_KEYS, "sparseMode": 2}, 4 * 16 * 2080 * 128, "attention"),
        ("aclnnFlashAttentionUnpaddingScoreGrad", {**PACKED, "sparseMode": 1}, 2.5 * 4 * 8 * (100 + 400) * 128, "attention_backward"),
        ("aclnnFFN", {"x": tensor(9, 5), "weight1": tensor(4, 5, 7), "weight2": tensor(4, 7, 5)}, 2 * 9 * (35 + 35), "cube"),
        (
            "aclnnSparseFlashAttention",
            {"query": tensor(9, 8, 64), "value": tensor(99, 1, 64), "sparseIndices": tensor(9, 1, 16), "queryRope": tensor(9, 8, 32)},
            2 * 9 * 8 * 16 * (64 + 64 + 32),
            "attention",
        ),
        ("aclnnAdd", {"self": tensor(4, 4), "other": tensor(4, 4), "out": tensor(4, 4)}, 0, "vector"),
    ],
)
def test_operations_follow_from_the_shapes(name: str, arguments: dict[str, object], flops: float, unit: str) -> None:
    cost = cost_of(name, arguments)
    assert (cost.unit, cost.flops) == (unit, pytest.approx(flops))


@pytest.mark.parametrize(
    ("name", "arguments", "elements"),
    [
        ("aclnnInplaceAdd", {"selfRef": tensor(8), "other": tensor(8)}, 8 * 3),
        ("aclnnInplaceCopy", {"selfRef": tensor(8), "src": tensor(8)}, 8 * 2),
        ("aclnnApplyAdamWV2", {key: tensor(8) for key in ("varRef", "mRef", "vRef", "grad")}, 8 * 7),
        ("aclnnEmbedding", {"weight": tensor(1000, 8), "indices": tensor(4), "out": tensor(4, 8)}, 4 + 2 * 32),
    ],
)
def test_bytes_are_those_that_are_read_and_written(name: str, arguments: dict[str, object], elements: int) -> None:
    assert cost_of(name, arguments).bytes == 2 * elements


def test_each_product_attention_and_convolution_states_its_cost() -> None:
    products = [r for r in RECORDS.values() if r.family in ("attention", "collective_matmul", "matmul", "sparse_attention")]
    products += [r for r in RECORDS.values() if r.source == "convolution"]
    assert [record.name for record in products if not record.cost] == []
    assert {record.cost.partition("(")[0] for record in RECORDS.values()} <= {*FORMULAS, "moves", "bytes", ""}


@pytest.mark.parametrize(("mode", "before", "after"), [(0, 5, 0), (0, 1 << 31, 1 << 31), (1, 0, 0), (2, 0, 0), (3, 0, 0), (4, 7, 2)])
def test_pairs_of_the_mask(mode: int, before: int, after: int) -> None:
    queries, keys = 40, 56
    shift = keys - queries if mode in (3, 4) else 0
    band = (1 << 31, 0) if mode in (2, 3) else (1 << 31, 1 << 31) if mode == 1 else (before, after)
    expected = sum(-band[0] <= k - q - shift <= band[1] for q in range(queries) for k in range(keys))
    assert visible_pairs(queries, keys, mode, before, after) == expected


def launch(stream: int, size: int = 1 << 32) -> Call:
    arguments = {"self": tensor(size), "other": tensor(size), "out": tensor(size)}
    return Call("aclnnAdd", stream, json.dumps(arguments))


def event(name: str, stream: int) -> Call:
    return Call(name, stream, '{"event": "0x1", "stream": "0x2"}')


def gather(stream: int) -> Call:
    return Call("HcclAllGather", stream, json.dumps({"commName": "dp", "ranks": 8, "bytes": 1 << 34}))


GROUPS = {"dp": range(8)}
ADD = seconds_of(cost_of("aclnnAdd", json.loads(launch(0).arguments)), CHIP)
GATHER = communication.seconds("HcclAllGather", 1 << 34, range(8), CHIP)


@pytest.mark.parametrize(
    ("calls", "seconds"),
    [
        ([launch(0), launch(0)], 2 * ADD),
        ([launch(0), launch(1)], ADD),
        ([launch(0), event("aclrtRecordEvent", 0), event("aclrtStreamWaitEvent", 1), launch(1)], 2 * ADD),
        ([launch(0), gather(1)], max(ADD, GATHER)),
        ([launch(0, 1)] * 1000, 1000 * CHIP["microseconds.launch"] * 1e-6),
    ],
    ids=["in order", "side by side", "an event", "overlap", "bound by the host"],
)
def test_streams_run_in_order_and_events_wait(calls: list[Call], seconds: float) -> None:
    calls = [*calls, Call("aclrtSynchronizeDevice", None, "{}")]
    assert simulate(calls, CHIP, GROUPS).seconds == pytest.approx(seconds, rel=0.05)


def test_what_a_summary_says_of_exposed_communication() -> None:
    calls = [
        launch(0),
        event("aclrtRecordEvent", 0),
        event("aclrtStreamWaitEvent", 1),
        gather(1),
        Call("aclrtSynchronizeDevice", None, "{}"),
    ]
    found = summary(simulate(calls, CHIP, GROUPS), CHIP, pipeline_of(calls))
    assert found.exposed == pytest.approx(GATHER, rel=0.01)
    assert found.low < found.seconds < found.high <= 1.25 * found.seconds
    assert any("communication is exposed" in remark for remark in found.remarks)


def test_communication_follows_the_links() -> None:
    within = communication.seconds("HcclAllGather", 1 << 30, range(8), CHIP)
    assert communication.seconds("HcclAllReduce", 1 << 30, range(8), CHIP) == pytest.approx(2 * within, rel=0.01)
    assert communication.seconds("HcclAllGather", 1 << 30, range(4), CHIP) > within  # only three of seven links are used
    assert communication.seconds("HcclAllGather", 1 << 30, [0, 8], CHIP) > within
    assert communication.seconds("HcclAllGather", 1 << 30, [0], CHIP) < 1e-3


def message(name: str, peer: int) -> Call:
    return Call(
        name,
        0,
        json.dumps(
            {"commName": "pp", "ranks": 4, "count": 8, "dataType": "bfloat16", "destRank" if name == "HcclSend" else "srcRank": peer}
        ),
    )


def test_a_pipeline_is_told_from_a_ring() -> None:
    first = [message("HcclSend", 1), message("HcclRecv", 1)] * 8
    assert pipeline_of(first).bubbles == pytest.approx(3 / 8)
    assert pipeline_of(first, 7).bubbles == pytest.approx(6 / 8)
    middle = [message("HcclRecv", 0), message("HcclSend", 2), message("HcclRecv", 2), message("HcclSend", 0)] * 8
    assert pipeline_of(middle).bubbles == pytest.approx(3 / 8)
    steady = {"commName": "pp", "ranks": 4, "destRanks": [1], "srcRanks": [1], "bytes": 16}
    batches = [message("HcclSend", 1), *[Call("HcclBatchSendRecv", 0, json.dumps(steady))] * 7, message("HcclRecv", 1)]
    assert pipeline_of(batches).bubbles == pytest.approx(3 / 8)
    ring = [Call("HcclGroupStart", None, "{}"), message("HcclSend", 1), message("HcclRecv", 3), Call("HcclGroupEnd", None, "{}")] * 8
    assert pipeline_of(ring).stages == 1


def paired(name: str, peer: int) -> Call:
    return Call(name, 0, json.dumps({"commName": "0:1", "ranks": 2, "count": 8, "destRank" if name == "HcclSend" else "srcRank": peer}))


@pytest.mark.parametrize("message", [message, paired], ids=["of a group", "of two ranks"])
def test_stages_wait_for_the_messages_of_each_other(message: Callable[[str, int], Call]) -> None:
    first = [launch(0), message("HcclSend", 1)] * 2 + [message("HcclRecv", 1), launch(0)] * 2
    last = [message("HcclRecv", 0), launch(0), launch(0), message("HcclSend", 0)] * 2
    groups = {"pipeline": [0, 4], "pp": [0, 4, 8, 12]}
    timelines = simulate_stages([Program(first, groups, 0), Program(last, groups, 4)], CHIP)
    # The time is that of the first stage's first launch, all launches of the last stage, and the first stage's last launch.
    assert [one.seconds for one in timelines] == pytest.approx([6 * ADD] * 2, rel=0.01)
    assert [one.waited for one in timelines] == pytest.approx([2 * ADD, 2 * ADD], rel=0.01)
    nobody_sends = [Program([message("HcclRecv", 1)], groups, 0), Program([launch(0)], groups, 4)]
    assert simulate_stages(nobody_sends, CHIP)[1].seconds == pytest.approx(ADD, rel=0.01)


def line(**fields: object) -> str:
    return json.dumps({"kind": "call", "time": 0.5, "pid": 1, "thread": 1, **fields}) + "\n"


def test_a_trace_becomes_an_estimate_and_a_timeline(tmp_path: Path) -> None:
    trace, drawn = tmp_path / "trace.jsonl", tmp_path / "timeline.json"
    arguments = {"self": tensor(4096, 4096), "mat2": tensor(4096, 4096), "out": tensor(4096, 4096)}
    words = {"weight": tensor(1000, 8), "indices": tensor(2, 512, dtype="INT64"), "out": tensor(2, 512, 8)}
    lines = []
    for number, (name, given) in enumerate([("aclnnMm", arguments), ("aclnnEmbedding", words)], 1):
        common = {"name": name, "call": number, "device": 0}
        lines.append(line(name=name, phase=1, call=number, device=0, duration=1e-6, code=0, arguments=given))
        lines.append(json.dumps({"kind": "task", **common}) + "\n")
        lines.append(line(name=name, phase=2, call=number, device=0, stream=3, duration=1e-6, code=0, arguments={"workspace": None}))
    lines.append(line(name="aclmdlRIExecuteAsync", device=0, stream=3, duration=1e-6, code=0, arguments={}))
    trace.write_text("".join(lines))
    assert [call.stream for call in read(trace)] == [3, 3, 3]
    found, timeline = estimate(trace, CHIP, {})
    assert found.tokens == 1024
    assert found.utilisation == pytest.approx(2 * 4096**3 / found.seconds / 353.9e12)
    assert found.kinds[0].name == "aclnnMm"
    assert found.remarks == ["missing in the sum: 1 x aclmdlRIExecuteAsync, of which no cost is known"]
    trace_file.write({"rank 0, ": timeline, "rank 1, ": timeline}, drawn, found.card)
    events = json.loads(drawn.read_text())["traceEvents"]
    kernels = [(one["pid"], one["name"]) for one in events if one.get("cat") == "kernel"]
    assert kernels == [(pid, name) for pid in (1, 3) for name in ("aclnnMm", "aclnnEmbedding")]
    assert [one["args"]["name"] for one in events if one["name"] == "process_name"][::2] == ["rank 0, host", "rank 1, host"]
    trace.write_text("")
    with pytest.raises(NoStep, match="no launches"):
        estimate(trace, CHIP, {})


@pytest.mark.parametrize(
    ("card", "m", "k", "n", "dtype", "microseconds"),
    [
        ("A3", 2048, 512, 4096, "BF16", 53.0),
        ("A3", 2048, 2048, 7168, "INT8", 131.0),
        ("A3", 2048, 7168, 4608, "INT8", 252.0),
        ("A3", 5, 7168, 16160, "BF16", 221.0),
        ("910B4", 2048, 5120, 17408, "BF16", 1841.0),
        ("910B4", 1, 5120, 17408, "BF16", 257.0),
    ],
)
def test_products_take_what_was_published(card: str, m: int, k: int, n: int, dtype: str, microseconds: float) -> None:
    cost = cost_of("aclnnMm", {"self": tensor(m, k, dtype=dtype), "mat2": tensor(k, n, dtype=dtype), "out": tensor(m, n)})
    assert seconds_of(cost, find(card)) * 1e6 == pytest.approx(microseconds, rel=0.2)


@pytest.mark.parametrize(
    ("dies", "of_each", "microseconds"), [(16, 40 << 20, 3080.0), (16, 5e6, 435.0), (16, 1.3e6, 177.0), (8, 3.5e6, 167.0)]
)
def test_gathers_take_what_was_published(dies: int, of_each: float, microseconds: float) -> None:
    assert communication.seconds("HcclAllGather", dies * of_each, range(dies), find("A3")) * 1e6 == pytest.approx(microseconds, rel=0.2)


@pytest.mark.parametrize("name", names())
def test_each_number_of_a_chip_has_a_source(name: str) -> None:
    chip = find(name)
    lacking = chip.lacks_for_times()
    assert bool(lacking) == ("310P" in name or "300I" in name)
    assert chip.memory is not None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"like": "a2_376t", "about": "mine", "soc": "Ascend910B2", "bandwidth_gib_s": {"value": 1}}', '"source" and "year"'),
        ('{"about": "mine", "soc": "Ascend910B2", "bandwidth_gib_s": 1}', "expected an object"),
        ('{"soc": "Ascend910B2"}', 'expected "about"'),
        ("[]", "expected a JSON object"),
    ],
)
def test_a_file_that_is_no_chip(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "chip.json"
    path.write_text(text)
    with pytest.raises(ChipError, match=message):
        find(str(path))


def test_a_file_of_the_users(tmp_path: Path) -> None:
    path = tmp_path / "mine.json"
    half = {"value": 819.2, "source": "measured here", "year": 2026}
    path.write_text(json.dumps({"like": "a2_376t", "about": "a slower one", "soc": "Ascend910B2", "bandwidth_gib_s": half}))
    mine: Chip = find(str(path))
    assert math.isclose(mine["bandwidth_gib_s"] * 2, CHIP["bandwidth_gib_s"])
    with pytest.raises(ChipError, match="910B4"):
        find("910B9")
