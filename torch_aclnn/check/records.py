"""The records of a worker, one JSON object a line."""

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

PASSED, LESS_EXACT, FAILED, NOT_OFFERED = "passed", "less exact than the engine", "failed", "not offered"

# torch_npu reads TASK_QUEUE_ENABLE once per process.
MODES = (0, 1, 2)
QUICK_MODES = (1,)  # torch_npu's default


@dataclass(frozen=True)
class Check:
    """One thing that was checked.

    Attributes:
        check: the name of the module or function that checks, such as "values", or "worker" for a process that ended early.
        operator: the operator, or None for what concerns all.
        status: PASSED, LESS_EXACT, FAILED or NOT_OFFERED.
        mode: TASK_QUEUE_ENABLE.
        dtype: the dtype of the gradient, such as float16.
        layout: how the inputs lie in memory.
        error_ulp: the largest error, in units in the last place.
        limit_ulp: the largest error that passes without a question.
        bytes: what is kept by ours and by torch's own.
        message: why it did not pass.
        case: which of several, such as a module of torch_aclnn.nn.
        listed: whether this CANN has to take the dtype on this product, by the published pages; None if that does not matter.
        torchs_ulp: the largest error of torch_npu's own operators on the device, for the same.
        difference_ulp: the largest difference between ours and torch_npu's own.
        blocks: as bytes, in blocks of torch_npu's allocator.
        detail: what was found in addition to the status.

    """

    check: str
    operator: str | None
    status: str
    mode: int
    dtype: str | None = None
    layout: str | None = None
    error_ulp: float | None = None
    limit_ulp: float | None = None
    bytes: tuple[int, int] | None = None
    message: str | None = None
    case: str | None = None
    listed: bool | None = None
    torchs_ulp: float | None = None
    difference_ulp: float | None = None
    blocks: tuple[int, int] | None = None
    detail: str | None = None


@dataclass(frozen=True)
class Cost:
    """Microseconds to call an operator on a tiny tensor, and torch_npu's own for the same gradient, if there is one."""

    operator: str
    mode: int
    ours_us: float
    torchs_us: float | None
    cache_hits: int | None = None
    """How many of our calls had a cached executor; None on CANN, which does not count."""
    is_cached: bool = True
    """Whether the calls may find executors that the operator library has kept."""


@dataclass(frozen=True)
class DeviceTime:
    """Microseconds between two events around the backward of a layer, by ours, with deterministic algorithms too, and by torch_npu."""

    operator: str
    case: str
    mode: int
    ours_us: float
    deterministic_us: float
    torchs_us: float
    is_cached: bool = True


@dataclass(frozen=True)
class Launches:
    """The launches of one training step of a small CNN, with its modules as they are and converted; None where they cannot be counted."""

    counted: str
    torchs: int
    converted: int
    converted_with_batch_norm: int | None


Record = Check | Cost | DeviceTime | Launches


def to_json(record: Record) -> dict[str, Any]:
    """Return the record as a JSON object that names its kind."""
    return {"kind": type(record).__name__, **asdict(record)}


def from_json(values: dict[str, Any]) -> Record:
    """Return the record of :func:`to_json`."""
    kinds: dict[str, type[Record]] = {"Check": Check, "Cost": Cost, "DeviceTime": DeviceTime, "Launches": Launches}
    return kinds[values.pop("kind")](**values)


def of_kind(records: Iterable[Record], kind: type[Any]) -> Iterator[Any]:
    """Return the records of one kind."""
    return (record for record in records if isinstance(record, kind))
