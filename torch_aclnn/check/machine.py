"""What was checked: versions, engine and device."""

import platform
from typing import Any

import torch
import torch_npu
from torch_aclnn import __version__, host
from torch_npu.npu.utils import get_cann_version

# torch_npu's numbers of the first products of a generation: Ascend310P1 and Ascend910B1.
_FIRST_INFERENCE, _FIRST_A2 = 200, 220


def _version(module: str) -> str | None:
    try:
        return get_cann_version(module) or None
    except RuntimeError:  # torch_npu reads files that belong to an installation
        return None


def generation() -> str:
    """Return of which generation this product is: "inference" (Ascend310P, which does not train), "training" (Ascend910A) or "A2"."""
    soc = torch_npu.npu.get_soc_version()
    return "A2" if soc >= _FIRST_A2 else "inference" if soc >= _FIRST_INFERENCE else "training"


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
