"""The machine that was checked: versions, engine, device, switches and libraries."""

import functools
import hashlib
import mmap
import os
import platform
from pathlib import Path
from typing import Any

import torch
import torch_npu
from torch_aclnn import __version__, host
from torch_npu.npu.utils import get_cann_version

# torch_npu's numbers of the first products of a generation: Ascend310P1, Ascend910B1, Ascend310B1, Ascend910_9391 and Ascend950.
_FIRST = ((260, "950"), (250, "A3"), (240, "310B"), (220, "A2"), (200, "inference"))

# Environment variables that change what is loaded or computed. TASK_QUEUE_ENABLE is not among them, because each check has its mode.
_SWITCHES = ("ACLNN_CACHE_LIMIT", "LD_LIBRARY_PATH", "PYTORCH_NPU_ALLOC_CONF", "LCCL_DETERMINISTIC")
_PREFIXES = ("ACL_", "ASCEND_", "HCCL_", "TORCH_ACLNN_", "TORCH_NPU_")

# The libraries that compute, launch and connect.
_LIBRARIES = (
    "libopapi",
    "libascendcl",
    "libruntime",
    "libhccl",
    "libnnopbase",
    "libaclnn_math",
    "libcust_opapi",
    "libtorch_npu",
    "libtorch_aclnn",
)


@functools.cache
def _version(module: str) -> str | None:
    try:
        return get_cann_version(module) or None
    except RuntimeError:  # raised where CANN's files are missing, which torch_npu reads
        return None


def cann_version() -> str | None:
    """Return CANN's version, or None if torch_npu cannot read it."""
    return _version("CANN")


def generation() -> str:
    """Return the generation of this product, as :data:`torch_aclnn.check.listed.PRODUCTS` names them.

    "inference" is Ascend310P, which does not train; of "former", Ascend910A and its kin, no list is kept.
    """
    soc = torch_npu.npu.get_soc_version()
    return next((name for first, name in _FIRST if soc >= first), "former")


def may_compute_float32_in_float16() -> bool:
    """Return whether this is a product from before A2, where operators on the matrix unit may do so."""
    return generation() in ("former", "inference")


def describe() -> dict[str, Any]:
    """Return versions, engine, what torch_npu knows of the device and its driver, switches of the environment, and loaded libraries."""
    return {
        "python": platform.python_version(),
        "platform": platform.platform(),
        "torch": torch.__version__,
        "torch_npu": torch_npu.__version__,
        "torch_aclnn": __version__,
        "engine": "host engine (CPU; not an NPU)" if host.is_active() else "CANN",
        "cann": cann_version(),
        "kernels": _version("OPP_KERNEL"),
        "driver": _version("DRIVER"),
        "soc": torch_npu.npu.get_device_name(0),
        "soc_version": torch_npu.npu.get_soc_version(),
        "generation": generation(),
        "devices": torch_npu.npu.device_count(),
        "device_properties": str(torch_npu.npu.get_device_properties(0)),
        "switches": {name: value for name, value in sorted(os.environ.items()) if name in _SWITCHES or name.startswith(_PREFIXES)},
        "libraries": _libraries(),
    }


def _libraries() -> dict[str, str]:
    """Return path and SHA-256 of the libraries that this process has loaded, as far as they can be read."""
    lines = Path("/proc/self/maps").read_text().splitlines()
    paths = {Path(line.split(maxsplit=5)[5]) for line in lines if len(line.split(maxsplit=5)) == 6}
    return {str(path): _hash(path) for path in sorted(paths) if path.name.startswith(_LIBRARIES) and path.is_file()}


def _hash(path: Path) -> str:
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        return hashlib.sha256(content).hexdigest()
