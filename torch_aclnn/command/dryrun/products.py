"""What public statements say of the memory of each chip, and of what a process needs outside torch_npu's allocator."""

import re
from dataclasses import dataclass

GIBIBYTE = 1 << 30
MEBIBYTE = 1 << 20


@dataclass(frozen=True)
class Known:
    """A number of bytes and who says so."""

    bytes: int
    source: str


# torch_npu's messages "NPU out of memory" name the total, and so what is neither free nor reserved by its allocator.
_TOTALS = (
    (
        r"Ascend910B(1|2|2C|3)",
        Known(round(60.96 * GIBIBYTE), "messages of 64 GB chips: xingchensong/TouchNet#100, vllm-project/vllm-omni#1199"),
    ),
    (r"Ascend910_93\d\d", Known(round(61.27 * GIBIBYTE), "message of an A3: sgl-project/sglang#29838")),
)
CONTEXT = Known(
    round(0.9 * GIBIBYTE),
    "0.55 to 0.89 GiB were neither free nor reserved before a collective: zai-org/CogVideo#63, hiyouga/LlamaFactory#5491",
)
OUTSIDE = Known(
    round(0.4 * GIBIBYTE),
    "an allowance: of 2.09 GiB outside the allocator in a training on 4 NPUs (xingchensong/TouchNet#100) context and HCCL explain 1.7",
)
HCCL_BUFFERS = "2 * HCCL_BUFFSIZE (200 MB unless set) for each communicator: CANN's page of HCCL_BUFFSIZE"
_HCCL_BUFFER = 200


def total_of(product: str) -> Known | None:
    """Return what torch_npu reports as the memory of a chip, or None if nobody has said so in public."""
    return next((known for pattern, known in _TOTALS if re.fullmatch(pattern, product)), None)


def hccl_buffers_of(setting: str | None) -> int:
    """Return the bytes of the two buffers of a communicator with that value of ``HCCL_BUFFSIZE``.

    Raises:
        ValueError: it is not a number of megabytes.

    """
    if setting is not None and not (setting.isdigit() and int(setting) > 0):
        raise ValueError(f"HCCL_BUFFSIZE: expected a number of megabytes from 1 on, got {setting!r}")
    return 2 * MEBIBYTE * (int(setting) if setting else _HCCL_BUFFER)
