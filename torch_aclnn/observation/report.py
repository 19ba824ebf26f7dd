"""The report of ``torch-aclnn dryrun`` and its parts. ``--json`` writes it with these names as keys; later releases may add some.

Nothing here needs torch: the observed process writes one part as JSON, and the command reads it and adds the rest.
"""

import json
from dataclasses import asdict, dataclass, field, is_dataclass
from pathlib import Path
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from torch_aclnn.timing.result import Estimate

FORMAT = 1

_Type = TypeVar("_Type")


@dataclass(frozen=True)
class Settings:
    """What the command asks of the observer.

    Attributes:
        steps: after how many steps the program is ended.
        context: the bytes of device memory that the process's context takes.
        hccl_buffers: those that each communicator takes.
        snapshot: the file for torch's snapshot.
        rank: which of a launcher's ranks the program is.
        time: whether the last step is traced so that its time can be estimated.
        equals: the folder with the files that equal ranks are found by, or None.

    """

    steps: int
    context: int
    hccl_buffers: int
    snapshot: str | None
    rank: int
    time: bool = False
    equals: str | None = None


@dataclass(frozen=True)
class Failure:
    """The exception that ended the program."""

    kind: str
    message: str
    line: str


@dataclass(frozen=True)
class OutOfMemory:
    """An allocation that failed."""

    bytes: int
    total: int
    free: int
    line: str
    step: int


@dataclass(frozen=True)
class Moment:
    """What was in use right after an allocation, and where the program was.

    Attributes:
        requested: bytes that the program asked for; ``reserved`` are those that the allocator held.
        phase: the phase of the step; ``node`` is autograd's node in a backward.
        bytes: the size of the allocation.
        categories: the bytes in use by category; ``lines`` are those by the lines with most of them.
        other_lines: the bytes of all other lines.

    """

    requested: int
    reserved: int
    step: int
    phase: str
    node: str
    line: str
    bytes: int
    categories: dict[str, int]
    lines: dict[str, int]
    other_lines: int


@dataclass(frozen=True)
class StepPeak:
    """The peaks of a step."""

    requested: int
    reserved: int


@dataclass(frozen=True)
class Memory:
    """What the allocator held.

    Attributes:
        requested: the maximum of the run, as ``allocated`` and ``reserved`` are.
        waiting: bytes that are free only after events of other streams.
        retries: how often the allocator emptied its cache and tried again; ``failures`` is how often that failed.
        room: whether the process's context and HCCL's buffers fit beside it.

    """

    requested: int
    allocated: int
    reserved: int
    waiting: int
    steps: list[StepPeak]
    peak: Moment | None
    at_the_first_failure: Moment | None
    retries: int
    failures: int
    room: bool


@dataclass(frozen=True)
class Blocks:
    """The memory that calls of a network's repeated blocks have left in use at the peak, or at the first failure.

    Attributes:
        name: the blocks' class.
        calls: the number of calls that have memory in use.
        bytes: the memory of all calls.
        largest: the memory of the call that has most.
        input: the bytes of one call's input.

    """

    name: str
    calls: int
    bytes: int
    largest: int
    input: int


@dataclass(frozen=True)
class Serving:
    """The memory of the forwards of a program that only runs forward.

    Attributes:
        forwards: how many there were.
        first: the peak of the first forward, which is the prefill where text is generated, in bytes.
        later: the peak of the others.
        kept: the bytes of earlier forwards that the last one found, as the cache of keys and values.
        growth: the bytes by which that grew from one forward to the next.

    """

    forwards: int
    first: int
    later: int
    kept: int
    growth: int


@dataclass(frozen=True)
class Finding:
    """An operation that costs time and the line of the program that causes it; equal ones are counted in one finding."""

    kind: str
    what: str
    line: str
    bytes: int = 0
    count: int = 1
    note: str = ""


@dataclass(frozen=True)
class Communication:
    """The calls of one collective by one group in one step."""

    step: int
    name: str
    group: str
    ranks: int
    calls: int
    bytes: int


@dataclass(frozen=True)
class LineRead:
    """Reads of unknown values by a line."""

    line: str
    count: int
    bytes: int


@dataclass(kw_only=True)
class Observed:
    """What the observed process writes; a process that was ended before it could report leaves the defaults.

    Attributes:
        end: ``steps``, ``program``, ``error``, ``interrupted``, ``running`` (killed) or ``nothing``.
        out_of_memory: the last allocation that failed.
        rank: None, like ``world_size``, for a program that runs as a single process.
        stage: the rank's first stage of a pipeline.
        equal_to: the rank whose figures these are, because the two are equal.
        dry: whether nothing was computed.
        steps: how many steps were seen.
        memory: None if the device was not used.
        communicators: how many communicators the process has.
        calls: for each step the launches of each entry point.
        findings: what the last step did.
        no_findings: why there are none.
        groups: with ``--time``, the ranks of each communicator, by its name.

    """

    end: str = "nothing"
    failure: Failure | None = None
    out_of_memory: OutOfMemory | None = None
    rank: int | None = None
    world_size: int | None = None
    stage: int | None = None
    equal_to: int | None = None
    dry: bool = True
    product: str = ""
    steps: int = 0
    memory: Memory | None = None
    blocks: Blocks | None = None
    serving: Serving | None = None
    communicators: int = 0
    calls: list[dict[str, int]] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    no_findings: str = ""
    communication: list[Communication] = field(default_factory=list)
    value_reads: list[LineRead] = field(default_factory=list)
    process: int = 0
    groups: dict[str, list[int]] = field(default_factory=dict)


@dataclass(frozen=True)
class CoverageReport:
    """The report of ``torch-aclnn coverage``, which ``--json`` writes with these names as keys.

    Attributes:
        versions: of torch, torch_npu and torch_aclnn.
        used: calls of each entry point that ran.
        missing_replaced: what torch_npu called in place of each entry point that it did not find; an empty text if it does not say.
        missing_failed: the entry points that torch_npu did not find, so that the call failed.
        refused: the operators that torch_npu called by name, which the engine refuses.
        handed_to_cpu: the operators that torch_npu computed on the CPU.
        exit_code: the program's; 128 and the signal's number if a signal ended it.

    """

    versions: dict[str, str]
    used: dict[str, int]
    missing_replaced: dict[str, str]
    missing_failed: list[str]
    refused: list[str]
    handed_to_cpu: list[str]
    exit_code: int


@dataclass(frozen=True)
class Summand:
    """A part of the memory that is needed."""

    what: str
    bytes: int
    source: str


@dataclass(frozen=True)
class Fits:
    """The decision.

    Attributes:
        code: the exit code.

    """

    code: int
    verdict: str
    needed: int
    total: int
    total_source: str
    summands: list[Summand]


@dataclass(kw_only=True)
class Report(Observed):
    """The whole report.

    Attributes:
        program: what was run, with its arguments.
        asked_steps: how many steps were asked for.
        assumed: what was assumed of other ranks and of values, and how often.
        time: the estimate of ``--time``.
        each_percent: the bytes that each percent of uneven load of the experts adds to the peak; None if no load was assumed.

    """

    format: int = FORMAT
    program: list[str]
    asked_steps: int
    assumed: dict[str, int]
    coverage: CoverageReport
    fits: Fits
    time: Estimate | None = None
    each_percent: int | None = None


def save(value: Any, path: Path) -> None:
    """Write an object of one of these types, or a list of them, as JSON."""
    path.write_text(json.dumps([asdict(one) for one in value] if isinstance(value, list) else asdict(value), indent=1) + "\n")


def load(kind: type[_Type], path: Path) -> _Type:
    """Return what :func:`save` has written.

    Raises:
        ValueError: the file was not written by it.

    """
    try:
        loaded: _Type = typed(kind, json.loads(path.read_text()))
    except (ValueError, TypeError, AttributeError) as error:
        raise ValueError(f"{path}: {error}") from error
    return loaded


def typed(kind: Any, value: Any) -> Any:
    """Convert a value from JSON to the type; fields that the type does not have are left out."""
    inner = [one for one in get_args(kind) if one is not type(None)]
    if is_dataclass(kind) and isinstance(kind, type):
        hints = get_type_hints(kind)
        return kind(**{name: typed(hints[name], one) for name, one in value.items() if name in hints})
    if get_origin(kind) is list:
        return [typed(inner[0], one) for one in value]
    if get_origin(kind) is dict:
        return {name: typed(inner[1], one) for name, one in value.items()}
    return typed(inner[0], value) if inner and value is not None else value
