"""The memory that a process needs outside torch_npu's allocator, by public statements."""

from dataclasses import dataclass

GIBIBYTE = 1 << 30
MEBIBYTE = 1 << 20


@dataclass(frozen=True)
class Known:
    """A number of bytes and who says so."""

    bytes: int
    source: str


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


def hccl_buffers_of(setting: str | None) -> int:
    """Return the bytes of the two buffers of a communicator with that value of ``HCCL_BUFFSIZE``.

    Raises:
        ValueError: it is not a number of megabytes.

    """
    if setting is not None and not (setting.isdigit() and int(setting) > 0):
        raise ValueError(f"HCCL_BUFFSIZE: expected a number of megabytes from 1 on, got {setting!r}")
    return 2 * MEBIBYTE * (int(setting) if setting else _HCCL_BUFFER)
