"""What a dry run observes and concludes, on data: steps, the allocator's history, lines, the decision, the report and its comparison."""

import copy
import sys
import threading
from argparse import Namespace
from dataclasses import asdict, replace
from pathlib import Path
from types import SimpleNamespace

import torch_aclnn
import pytest
import torch
from torch.distributed.pipelining import PipelineStage
from torch_aclnn.command import cli
from torch_aclnn.command.dryrun import arguments, command, ranks, remedies
from torch_aclnn.command.dryrun.compare import compare, comparison
from torch_aclnn.command.dryrun.details import details
from torch_aclnn.command.dryrun.fits import decide, guessed
from torch_aclnn.command.dryrun.placeholders import filled, largest, placeholder
from torch_aclnn.command.dryrun.products import CONTEXT, GIBIBYTE, MEBIBYTE, OUTSIDE, Known, hccl_buffers_of
from torch_aclnn.command.dryrun.screen import first_screen
from torch_aclnn.observation.categories import ACTIVATIONS, SHARDING, Labels, category_of
from torch_aclnn.observation.equal_ranks import pipeline_ranks, pipeline_stage
from torch_aclnn.observation.forks import import_for
from torch_aclnn.observation.history import Block, replay
from torch_aclnn.observation.lines import line_of
from torch_aclnn.observation.operations import ObservedStep
from torch_aclnn.observation.report import CoverageReport, Failure, Observed, Report, load, save, typed
from torch_aclnn.observation.steps import Steps
from torch_aclnn.timing.chip import names

from support.marks import host_engine_only

# A backward is "b"; another letter is the step of that optimizer, a capital that of one with gradients.
SEQUENCES = {
    "ba ba ba": 3,
    "bbba bbba": 2,  # gradients are accumulated
    "ba a a ba": 2,  # one call for each part of the parameters
    "a a ba": 1,  # before a scheduler's first step
    "bd bd bd bg bd bd bd bg": 2,  # a critic and its generator
    "bba g bba g": 2,  # two losses, then both optimizers
    "bg bd": 1,
    "A A A": 3,  # steps after backwards that are not seen
    "bA A A bA": 2,
}


@pytest.mark.parametrize(("sequence", "expected"), SEQUENCES.items())
def test_a_step_ends_when_each_optimizer_has_stepped_after_a_backward(sequence, expected):
    steps, known = Steps(), set(sequence) - {"b", " "}
    for sign in sequence.replace(" ", ""):
        steps.backward() if sign == "b" else steps.step(sign, known, sign.isupper())
    assert steps.done == expected


def test_an_optimizer_that_never_steps_is_not_waited_for_for_ever():
    steps = Steps()
    for _ in range(25):
        steps.backward()
        steps.step("used", {"used", "unused"})
    assert steps.done == 5


FRAMES = [{"filename": f"{Path(torch.__file__).parent}/_tensor.py", "line": 1, "name": ""}, {"filename": "train.py", "line": 7, "name": ""}]


def event(action: str, address: int = 0, size: int = 0, **more: object) -> dict[str, object]:
    return {"action": action, "addr": address, "size": size, "frames": FRAMES, **more}


TRACE = [
    event("segment_alloc", 0, 2048),
    event("alloc", 0, 100),
    event("alloc", 512, 300),
    event("free_requested", 512, 300),
    event("free_completed", 512, 300),
    event("alloc", 512, 200),
    event("free_requested", 0, 100),  # another stream has used it
    event("alloc", 1024, 50),
    event("oom", 0, 9999),
    event("free_completed", 0, 100),
    event("segment_free", 0, 1024),
    event("alloc", 0, 10),
]


def test_the_history_has_the_peak_and_what_was_in_use():
    history = replay(TRACE, ends_of_steps=[4])
    assert history.allocated == [100, 400, 300, 250, 260] and history.reserved == [2048] * 4 + [1024]
    assert history.peak() == 2 and history.peak(2, 4) == 3
    assert [block.size for block in history.alive(2)] == [100, 300]
    assert [block.size for block in history.alive(5)] == [200, 50, 10]
    assert history.waiting == [0, 0, 0, 100, 0]
    assert history.failed == [(4, 9999)]
    assert line_of(history.blocks[0].places) == "train.py:7"


@pytest.mark.parametrize(
    ("file", "expected"),
    [
        (threading.__file__, ""),
        ("<frozen importlib>", ""),
        (torch.__file__, ""),
        (torch_aclnn.__file__, ""),
        ("train.py", "train.py:3"),
        (str(Path(torch.__file__).parents[1] / "transformers" / "model.py"), "transformers/model.py:3"),
    ],
)
def test_a_line_is_the_programs_or_a_librarys_but_not_torchs(file, expected):
    assert line_of([(file, 3)]) == expected


TORCH = Path(torch.__file__).parent
GATHERING, MODULE, LAYER = (str(TORCH / file) for file in ("distributed/fsdp/a.py", "nn/modules/module.py", "nn/modules/linear.py"))
WRAPPER = str(TORCH / "nn/parallel/distributed.py")


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ((GATHERING, MODULE, "train.py"), SHARDING),
        ((GATHERING,), SHARDING),  # gathered in the backward
        ((LAYER, MODULE, WRAPPER, MODULE, "train.py"), ACTIVATIONS),
        (("train.py", GATHERING), ACTIVATIONS),  # the stack of a function with torch's elastic launcher around it
        ((str(TORCH / "_tensor.py"),), ACTIVATIONS),
    ],
)
def test_what_code_for_several_ranks_only_calls_is_not_its_memory(files, expected):
    block = Block(0, 8, 1, [{"filename": file, "line": 1} for file in files])
    assert category_of(block, Labels(), in_backward=False, in_optimizer=False) == expected


@host_engine_only
def test_reads_copies_and_casts_are_found_with_their_lines():
    weight = torch.ones(4, 6, device="npu", requires_grad=True)
    observed = ObservedStep()
    observed.start()
    line = _step.__code__.co_firstlineno
    _step(weight)
    observed.stop()
    _step(weight)
    assert all("test_dryrun.py:" in one.line and one.count == 1 for one in observed.findings)
    found = {(one.kind, one.line.rpartition(":")[2], one.note): (one.what, one.bytes) for one in observed.findings}
    assert found["uploads", str(line + 1), ""] == ("copy to the NPU", 4 * 6 * 4)
    assert found["strided", str(line + 2), ""] == ("copy", 4 * 6 * 4)
    assert found["reads", str(line + 3), ""] == ("aten::item", 4)
    assert found["reads", str(line + 4), "integers"] == ("aten::item", 8)
    assert found["reads", str(line + 5), "sizes depend on values"] == ("aten::nonzero", 0)
    assert found["waits", str(line + 6), ""] == ("synchronize", 0)


def _step(weight):
    x = torch.ones(4, 6).to("npu")
    y = (x * weight).t().contiguous()
    y.sum().item()
    y.argmax().item()
    y.nonzero()
    torch.npu.synchronize()


class Wrapper(torch.Tensor):
    """A tensor on the NPU that has another, as torch's functional collectives return."""

    def __new__(cls, inner):
        wrapper = torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype, device=inner.device)
        wrapper.inner = inner
        return wrapper

    @classmethod
    def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
        return function(*(one.inner if isinstance(one, cls) else one for one in args), **(kwargs or {}))


@host_engine_only
def test_a_read_of_what_a_tensor_wraps_is_one_read():
    wrapper, observed = Wrapper(torch.ones((), device="npu")), ObservedStep()
    observed.start()
    wrapper.item()
    observed.stop()
    assert [(one.what, one.count) for one in observed.findings if one.kind == "reads"] == [("aten::item", 1)]


PEAK = {
    **{"requested": 9 * GIBIBYTE, "reserved": 12 * GIBIBYTE, "step": 2, "phase": "backward", "node": "AddmmBackward0"},
    **{"line": "a/very/long/path/" * 6 + "model.py:12", "bytes": 512, "other_lines": 4096},
    "categories": {"parameters and buffers": 4 * GIBIBYTE, "activations and inputs": 5 * GIBIBYTE, **{f"other {i}": 1 for i in range(5)}},
    "lines": {"deep/" * 30 + "model.py:40": 5 * GIBIBYTE},
}
SERVING = {"forwards": 4, "first": 3 * GIBIBYTE, "later": 2 * GIBIBYTE, "kept": GIBIBYTE, "growth": GIBIBYTE}
REPORT = {
    **{"blocks": None, "serving": None},
    **{"program": ["-c", "import train\ntrain.main()"], "asked_steps": 2, "product": "Ascend910B3", "end": "steps", "failure": None},
    **{"out_of_memory": None, "rank": 0, "world_size": 8, "dry": True, "steps": 2, "communicators": 2, "no_findings": ""},
    "memory": {
        **{"requested": 9 * GIBIBYTE, "allocated": 10 * GIBIBYTE, "reserved": 12 * GIBIBYTE, "waiting": MEBIBYTE, "room": True},
        **{"steps": [{"requested": 8 * GIBIBYTE, "reserved": 11 * GIBIBYTE}] * 2, "peak": PEAK, "at_the_first_failure": None},
        **{"retries": 1, "failures": 0},
    },
    "calls": [{"aclnnAddmm": 3}, {"aclnnAddmm": 2, "aclnn" + "Long" * 20: 40, "aclnnNpuFormatCast": 1}],
    "findings": [
        {"kind": "reads", "what": "aten::item", "line": "train.py:9", "bytes": 16, "count": 2, "note": "integers"},
        *({"kind": "uploads", "what": "copy", "line": f"train.py:{n}", "bytes": 1024, "count": 1, "note": ""} for n in range(20)),
    ],
    "communication": [{"step": 2, "name": "HcclAllGather", "group": "group" * 20, "ranks": 8, "calls": 4, "bytes": GIBIBYTE}],
    "value_reads": [],
    "process": 1,
    "groups": {},
    **{"stage": None, "equal_to": None, "each_percent": None},
    "assumed": {"few integers received from another rank are those that this rank sent": 2},
    "coverage": {
        **{"exit_code": 0, "versions": {}, "used": {}},
        "handed_to_cpu": ["aten::logit"],
        "missing_failed": [],
        "missing_replaced": {"aclnnFoo": "acl_op::foo"},
        "refused": [],
    },
}
TOTAL = Known(round(60.96 * GIBIBYTE), "a message")


def report_with(**changes: object) -> Report:
    """Return the report with other values; the keys of memory and coverage may be given directly."""
    report = copy.deepcopy(REPORT)
    for name, value in changes.items():
        (report if name in report else next(report[part] for part in ("memory", "coverage") if name in report[part]))[name] = value
    places = guessed(report.get("assumed", ()))
    fits = decide(typed(Observed, report), typed(CoverageReport, report["coverage"]), places, TOTAL, hccl_buffers_of(None))
    return typed(Report, {**report, "fits": asdict(fits)})


GUESSED = {"a result whose size unknown values decide is taken for the largest: train.py:7": 2}
TRUTH = [{"kind": "reads", "what": "aten::is_nonzero", "line": "train.py:9", "bytes": 2, "count": 2, "note": "integers"}]
NOTHING = vars(Observed())
FAILED = {"kind": "RuntimeError", "line": "train.py:3", "message": "no luck"}
REFUSED = {**FAILED, "message": "aclnnAvgPool2d: self: expected a data type of FLOAT, got DOUBLE"}
OUT_OF_MEMORY = {"bytes": GIBIBYTE, "total": TOTAL.bytes, "free": MEBIBYTE, "line": "train.py:8", "step": 1}
ENDS = {
    "fits": ({}, 0, "VERDICT: fits"),
    "counts": ({}, 0, "gave back its cache 1 time, and 0 allocations failed"),
    "served": ({"end": "program", "steps": 0, "serving": SERVING}, 0, "what is left is enough for 46 more"),
    "failed to serve": ({"end": "program", "steps": 0, "serving": SERVING, "exit_code": 1}, 5, "VERDICT: not known"),
    "ended by itself": ({"end": "program", "steps": 1}, 5, "the program ended by itself after 1 of 2 steps"),
    "sys.exit": ({"end": "program", "steps": 1, "exit_code": 3}, 5, "ended by itself with exit code 3 after 1 of 2 steps"),
    "too large": ({"reserved": 59 * GIBIBYTE}, 1, "too much"),
    "no room for the context": ({"room": False}, 1, "does not fit"),
    "out of memory": ({"end": "error", "failure": FAILED, "out_of_memory": OUT_OF_MEMORY}, 1, "1.00 GiB failed in step 1 at train.py:8"),
    "a limit of the process": (
        {"end": "error", "failure": FAILED, "out_of_memory": {**OUT_OF_MEMORY, "free": 60 * GIBIBYTE}},
        5,
        "60.00 GiB were free; a limit of this process refused it (set_per_process_memory_fraction, or ulimit -v)",
    ),
    "out of memory that the program survived": ({"out_of_memory": OUT_OF_MEMORY}, 0, "an allocation of 1.00 GiB failed"),
    "missing": ({"missing_failed": ["aclnnFFNV2"]}, 3, "refused or missing: aclnnFFNV2"),
    "refused": ({"end": "error", "failure": REFUSED}, 3, "RuntimeError: aclnnAvgPool2d: self: expected"),
    "values": ({"value_reads": [{"line": "train.py:9", "count": 2, "bytes": 16}]}, 4, "values decided at train.py:9"),
    "integers that are known": ({"value_reads": [{"line": "train.py:9", "count": 2, "bytes": 8}]}, 0, "reads of values"),
    "truth values": ({"findings": TRUTH, "value_reads": [{"line": "train.py:9", "count": 2, "bytes": 2}]}, 0, "reads of values"),
    "reads of other lines": ({"value_reads": [{"line": "train.py:1", "count": 2, "bytes": 8}]}, 0, "reads of values"),
    "a guessed size": ({"assumed": GUESSED}, 4, "values decided at train.py:7"),
    "too large by a guessed size": ({"assumed": GUESSED, "reserved": 59 * GIBIBYTE}, 4, "unreliable"),
    "experts": ({"assumed": {"experts are chosen evenly: moe.py:3": 4}}, 0, "chosen evenly at moe.py:3"),
    "a range": ({"each_percent": 3 * MEBIBYTE}, 0, "for each percent of load above the experts' even one 3.00 MiB"),
    "failed": ({"end": "error", "failure": FAILED, "steps": 1}, 5, "at train.py:3 RuntimeError: no luck"),
    "a long message": ({"end": "error", "failure": {**FAILED, "message": "no luck " * 100}}, 5, "no ... MEMORY"),
    "interrupted": ({"end": "interrupted", "steps": 1}, 5, "the program was interrupted after 1 of 2 steps"),
    "killed": ({"end": "running", "steps": 1}, 5, "killed"),
    "no step": ({"end": "program", "steps": 0, "calls": []}, 5, "CALLS: no step was seen"),
    "no device": (NOTHING, 5, "the program never used the npu device"),
    "failed before the device": ({"exit_code": 1, **NOTHING}, 5, "ended with exit code 1 before it used the npu device"),
    "refused its arguments": ({"exit_code": 2, **NOTHING}, 2, "ended with exit code 2 before it used the npu device"),
    "killed before a step": ({"exit_code": 143, **NOTHING}, 5, "signal 15 ended the program before its first step"),
    "no device because of an error": ({**NOTHING, "end": "error", "failure": FAILED}, 5, "at train.py:3 RuntimeError: no luck"),
}


@pytest.mark.parametrize(("changes", "code", "words"), ENDS.values(), ids=ENDS)
def test_the_decision_and_the_report_which_fits_a_terminal(changes, code, words):
    report = report_with(**changes)
    screen = first_screen(report)
    printed = [*screen, *details(report)]
    assert report.fits.code == code and words in " ".join(" ".join(printed).split())
    assert [line for line in printed if len(line) > 80 or "\n" in line] == [] and len(screen) <= 40


def test_what_is_needed_is_a_sum_with_a_source_for_each_part():
    fits = report_with().fits
    known = CONTEXT.bytes + OUTSIDE.bytes
    assert fits.needed == sum(part.bytes for part in fits.summands) == 12 * GIBIBYTE + 800 * MEBIBYTE + known
    assert all(part.source for part in fits.summands)


BLOCKS = {"name": "Block", "calls": 4, "bytes": 40 * GIBIBYTE, "largest": 10 * GIBIBYTE, "input": GIBIBYTE}
PARTS = {"parameters and buffers": 8, "gradients": 8, "optimizer state": 16, "activations and inputs": 50}


def test_what_would_help_is_reckoned_from_the_peak():
    moment = {**PEAK, "categories": {name: count * GIBIBYTE for name, count in PARTS.items()}}
    report = report_with(reserved=82 * GIBIBYTE, peak=moment, blocks=BLOCKS, world_size=None, communicators=0)
    outside = CONTEXT.bytes + OUTSIDE.bytes
    rest = 32 * GIBIBYTE + outside
    assert [round((one.needed - outside) / GIBIBYTE, 2) for one in remedies.remedies(report, report.memory.peak)] == [
        82 - 40 + 10 + 4,
        round((TOTAL.bytes - outside) / GIBIBYTE, 2),
        82 - 32 + 32 / 8 + 2 * 8 / 4,
        82 - 16,
    ]
    printed = "\n".join(remedies.lines(report))
    assert f"of at most {(TOTAL.bytes - rest) / (50 * GIBIBYTE):.2f} times this one" in printed and "shard over 8 ranks" in printed
    assert max(map(len, printed.splitlines())) <= 80 and remedies.lines(report_with()) == []


def test_the_process_that_trained_is_reported():
    reports = [Observed(steps=steps, rank=rank) for steps, rank in ((0, None), (2, 3), (2, 1))]
    assert command.merged(reports).rank == 1
    assert command.merged([]) == Observed()


def test_equal_ranks_have_one_row_and_the_worst_decides():
    large = replace(report_with(reserved=59 * GIBIBYTE), rank=3, stage=1)
    reports = [report_with(), *(replace(report_with(), rank=rank, equal_to=0) for rank in (1, 2, 5)), large]
    lines = ranks.table(reports)
    assert ranks.worst(reports) is large and [line for line in lines if len(line) > 80] == []
    assert [line.split()[:4] for line in lines[2:4]] == [["0-2,", "5", "0", "14.08"], ["3", "1", "1", "61.08"]]


@host_engine_only
def test_forks_begin_with_the_packages_that_the_programs_own_modules_import(tmp_path, monkeypatch):
    own = {"own/__init__": "import no_such\nimport colorsys", "own/part": "from . import more"}
    others = {"own/more": "import own.part\nfrom wave import open", "pip": ""}
    files = {"train": "import own.part as part\nimport pip\nif part:\n    import quopri", **own, **others}
    (tmp_path / "own").mkdir()
    for name, text in files.items():
        (tmp_path / f"{name}.py").write_text(text)
    for name in ("colorsys", "wave", "quopri", "pip"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    import_for([str(tmp_path / "train.py")])
    assert {"colorsys", "wave", "quopri", "own", "pip"} & sys.modules.keys() == {"colorsys", "wave"}


@host_engine_only
@pytest.mark.parametrize("group", [(0, 8), [(0, 8), (8, 0)]], ids=["group", "list"])
def test_a_stage_is_that_of_torchs_pipeline_or_of_megatrons(monkeypatch, group):
    monkeypatch.setattr(torch.distributed, "get_process_group_ranks", list)
    stage = object.__new__(PipelineStage)
    stage.stage_index, stage.group = 3, (4, 5)
    assert (pipeline_stage(), pipeline_ranks()) == (3, [4, 5])
    megatron = SimpleNamespace(
        model_parallel_is_initialized=lambda: True,
        get_pipeline_model_parallel_rank=lambda: 1,
        get_pipeline_model_parallel_group=lambda: group,
    )
    monkeypatch.setitem(sys.modules, "megatron.core.parallel_state", megatron)
    assert (pipeline_stage(), pipeline_ranks()) == (1, [0, 8])


def test_two_reports_are_compared():
    other = report_with(reserved=14 * GIBIBYTE, calls=[{"aclnnAddmm": 5, "aclnnMm": 1}], communication=[])
    lines = [" ".join(line.split()) for line in comparison(report_with(), other)]
    assert "reserved 12.00 GiB 14.00 GiB +2.00 GiB" in lines and "all 43 6 -37" in lines
    assert "aclnnMm 0 1 +1" in lines and "HcclAllGather 1.00 GiB 0 B -1.00 GiB" in lines
    assert [line for line in comparison(report_with(), other) if len(line) > 80] == []


def test_a_report_is_read_as_it_was_written(tmp_path):
    save(report_with(end="error", failure=FAILED), tmp_path / "a.json")
    read = load(Report, tmp_path / "a.json")
    assert read == report_with(end="error", failure=FAILED) and read.failure == Failure(**FAILED)


def test_a_file_that_is_no_report_is_named(tmp_path, capsys):
    (tmp_path / "a.json").write_text('{"format": 1}')
    assert compare(tmp_path / "a.json", tmp_path / "a.json") == 2
    assert (
        capsys.readouterr().err == f"torch-aclnn dryrun: --compare: {tmp_path}/a.json: expected a report of format 1, as --json writes it\n"
    )
    assert compare(tmp_path / "b.json", tmp_path / "a.json") == 2
    assert capsys.readouterr().err == f"torch-aclnn dryrun: --compare: {tmp_path}/b.json: No such file or directory\n"


CARDS = ", ".join(names())
MISUSES = {
    "": "expected a script, -c or -m and its arguments",
    "--steps 0 -c 1": "argument --steps: expected a number from 1 on, got 0",
    "--world-size 8 -c 1": "--rank and --world-size: expected both or neither, and --rank alone with a launcher such as torchrun",
    "--rank 8 --world-size 8 -c 1": "--rank: expected 0 to 7 with --world-size 8, got 8",
    "--ranks 0 -c 1": "--ranks: expected --world-size, and none of --rank, --fit and --snapshot",
    "--ranks 0,8 --world-size 8 -c 1": "--ranks: expected all, or numbers from 0 to 7 as in 0,1,7, got 0,8",
    "--memory much -c 1": "argument --memory: expected a size such as 60.9G, 32GiB or 32768M, and at least 1G, got 'much'",
    "--memory 32 -c 1": "argument --memory: expected a unit behind the number, as 32G or 32GiB, got 32",
    "--memory 32M -c 1": "argument --memory: expected a size such as 60.9G, 32GiB or 32768M, and at least 1G, got '32M'",
    "--card H100 -c 1": (
        f"--card: expected {CARDS}, or a JSON file, got H100; of another, its SoC's name and --memory, as --card Ascend310B1 --memory 8G"
    ),
    "--product Ascend910B3 -c 1": "--product: is now --card",
    "--stpes 3 x.py": "expected an option that dryrun has, or a program, got --stpes",
    "-z x.py": "expected an option that dryrun or Python has, or a program, got -z",
    "-u": "expected a script, -c or -m behind -u",
    "-c": "-c: expected a program, got nothing",
    "-m nowhere": "-m: expected a module that is installed or in this folder, got nowhere",
    "-u nowhere.py": "expected a script that is there, or a command such as torchrun, got nowhere.py",
    "/bin/ls": "expected a script of Python, or a command that is one, got /bin/ls",
    "--fit batch=0:4 -c 1": "argument --fit: expected a name with numbers from 1 on, as batch=1:64 or length=1024,2048, got batch=0:4",
    "--fit batch=1:4 -c 1": "--fit: expected {batch} among the program's arguments",
    "--time --steps 1 -c 1": "--time: expected --steps from 2 on, as the first step makes the optimizer's state, got 1",
    "--time --card 310P -c 1": (
        "--time: nobody has published the rates of 310P; a file of your own needs cube_tflops, vector_tflops, bandwidth_gib_s, "
        "indexed_giga_elements_s, link_gb_s, links, ranks_of_a_node, node_link_gb_s, efficiency, microseconds (docs/how_long.md)"
    ),
    "--json /nowhere/a.json x.py": "argument --json: expected a file in a folder that can be written, got /nowhere/a.json",
    "--compare a.json": "argument --compare: expected 2 arguments",
    "--compare a.json b.json x.py": "--compare: expected two reports and nothing else, got x.py too",
}


def parsed(*line: str) -> Namespace:
    found = cli.parse(["dryrun", *line])
    arguments.check(found)
    return found


@pytest.mark.parametrize(("line", "message"), MISUSES.items())
def test_an_error_of_use_is_one_line(line, message, capsys):
    with pytest.raises(SystemExit, match="2"):
        parsed(*line.split())
    assert capsys.readouterr().err == f"torch-aclnn dryrun: {message} (see torch-aclnn dryrun --help)\n"


def test_the_programs_arguments_begin_at_its_name():
    found = parsed("--steps=3", "--memory", "32GiB", "--card", "Ascend310P3", "--", "python3", "-m", "json", "--steps", "7")
    assert (found.steps, found.total.bytes, found.runs) == (3, 32 * GIBIBYTE, ["-m", "json", "--steps", "7"])


@pytest.mark.parametrize(
    ("card", "soc", "gibibytes"),
    [
        ("910B4", "Ascend910B4", 29.49),
        ("910b 64g", "Ascend910B3", 60.96),
        ("Atlas 300I Duo", "Ascend310P3", 43.24),
        ("A3 die", "Ascend910_9391", 61.27),
        ("Ascend910B2C", "Ascend910B2C", 60.96),
    ],
)
def test_a_card_has_names_that_people_use(card, soc, gibibytes):
    found = parsed("--card", card, "-c", "1")
    assert (found.product, found.total.bytes) == (soc, round(gibibytes * GIBIBYTE)) and found.total.source


SEARCHES = [  # values, the bytes that a value needs of 100, the largest value that fits, and the maximum number of runs
    (range(1, 65), lambda value: 20 + 3 * value, 26, 5),
    (range(1, 1001), lambda value: 50 + value // 20 + (value > 10), 999, 9),  # two small values lead to a wrong estimate
    ((1, 2, 4, 8), lambda value: 10 * value, 8, 4),
    (range(5, 9), lambda value: 200, None, 1),
    (range(1, 10), lambda value: 1, 9, 4),
]


@pytest.mark.parametrize(("values", "needs", "expected", "most"), SEARCHES)
def test_the_largest_value_that_fits_is_found_by_few_runs(values, needs, expected, most):
    tried = []
    assert largest(values, lambda value: tried.append(value) or (needs(value) if needs(value) <= 100 else None), 100) == expected
    assert len(tried) == len(set(tried)) <= most


def test_of_a_second_range_few_values_are_tried():
    assert placeholder("length=512:3000").few() == [512, 1024, 2048, 3000] and placeholder("a=4,2").few() == [2, 4]
    assert filled(["--b={b}", "{a}", "{c}"], {"b": 3, "a": 1}) == ["--b=3", "1", "{c}"]


def test_the_buffers_of_hccl(monkeypatch):
    assert (hccl_buffers_of(None), hccl_buffers_of("50")) == (400 * MEBIBYTE, 100 * MEBIBYTE)
    monkeypatch.setenv("HCCL_BUFFSIZE", "much")
    with pytest.raises(SystemExit, match="2"):
        parsed("-c", "1")
