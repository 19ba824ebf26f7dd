"""What was checked: versions, engine and device."""

import platform
from typing import Any

import torch
import torch_npu
from torch_aclnn import __version__, host
from torch_npu.npu.utils import get_cann_version

# torch_npu's numbers of Ascend310P1 and its like.
_INFERENCE = range(200, 210)


def _version(module: str) -> str | None:
    try:
        return get_cann_version(module) or None
    except RuntimeError:  # torch_npu reads files that belong to an installation
        return None


def is_for_inference() -> bool:
    """Return whether this is a product that does not train: an Ascend310P."""
    return torch_npu.npu.get_soc_version() in _INFERENCE


def describe() -> dict[str, Any]:
    """Return versions, engine, and what torch_npu knows of the device and its driver."""
    return {
        "python": platform.python_version(),
        "platform": platform.platform(),
        "torch": torch.__version__,
        "torch_npu": torch_npu.__version__,
        "torch_aclnn": __version__,
        "engine": "host engine (CPU; not an NPU)" if host.is_active() else "CANN",
        "cann": _version("CANN"),
        "driver": _version("DRIVER"),
        "soc": torch_npu.npu.get_device_name(0),
        "soc_version": torch_npu.npu.get_soc_version(),
        "devices": torch_npu.npu.device_count(),
        "device_properties": str(torch_npu.npu.get_device_properties(0)),
    }
