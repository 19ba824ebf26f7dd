"""The records of a worker, one JSON object a line."""

from dataclasses import dataclass

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
        bytes: the memory that ours keeps, and torch's own.
        message: why it did not pass.
        case: what was checked if the operator has several cases, such as a module of torch_aclnn.nn.
        listed: whether this CANN has to take the dtype on this product, by the published pages; None if that does not matter.
        torchs_ulp: the largest error of torch_npu's own operators on the device, for the same.
        difference_ulp: the largest difference between ours and torch_npu's own.
        blocks: the same as bytes, counted in blocks of torch_npu's allocator.
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
