"""Kernels of Triton in a dry run: nothing compiles them, and what they write is unknown afterwards.

Triton itself is the package of that name, or triton-ascend; of the latter, the modules of its extensions need not be there.
"""

import ast
import ctypes
import functools
import inspect
import os
import sys
import textwrap
from collections import defaultdict
from importlib.abc import Loader
from importlib.machinery import ModuleSpec
from types import ModuleType, SimpleNamespace
from typing import Any

from torch_aclnn.loading import changes
from torch_aclnn.loading.cann import RUNTIME_LIBRARIES
from torch_aclnn.loading.findings import add_finding
from torch_aclnn.loading.loader import loaded_library

_EXTENSIONS = "triton.language.extra.cann"
_WRITING = ("store", "atomic")


def watch() -> None:
    """Skip the kernels of this process if it is a dry run, also if Triton is imported later."""
    if os.environ.get("TORCH_ACLNN_HOST_COMPUTE") == "0":  # the engine, if asked, would read its settings, which may not be set yet
        changes.make({"triton.runtime": _skip})


def _skip(runtime: Any) -> None:
    runtime.driver.set_active(_Driver())
    runtime.JITFunction.run = _launch
    runtime.Autotuner.__init__, runtime.Autotuner.run = _tune_nothing, _launch_first
    runtime.Config.__init__ = _without_further_options(runtime.Config.__init__)
    sys.meta_path.append(_Extensions())


def _tune_nothing(tuner: Any, function: Any, arg_names: list[str], configs: list[Any], *_: Any, **__: Any) -> None:
    """Take the place of the check of what is tuned for, which differs between Triton and triton-ascend."""
    tuner.fn, tuner.arg_names, tuner.configs = function, arg_names, configs


def _launch_first(tuner: Any, *args: Any, **options: Any) -> None:
    tuner.fn.run(*args, **options, **tuner.configs[0].all_kwargs())


def _without_further_options(init: Any) -> Any:
    """Return the constructor of a configuration that leaves out what only triton-ascend's compiler knows."""
    known = inspect.signature(init).parameters
    return lambda self, *args, **options: init(self, *args, **{name: value for name, value in options.items() if name in known})


class _Extensions(Loader):
    """Finds, behind all other finders, the modules of triton-ascend that have what only kernels call."""

    def find_spec(self, fullname: str, *_: Any) -> ModuleSpec | None:
        return ModuleSpec(fullname, self, is_package=True) if fullname.startswith(_EXTENSIONS) else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _Extension(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Do nothing: the module has any name that it is asked for."""


class _Extension(ModuleType):
    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *_, **__: None


class _Driver:
    """What programs ask Triton's driver of the device."""

    def __init__(self) -> None:
        self.utils = SimpleNamespace(get_device_properties=_properties)

    def get_current_target(self) -> Any:
        return SimpleNamespace(backend="npu", arch=_device_module().get_device_name(), warp_size=0)


def _device_module() -> Any:
    return sys.modules["torch"].npu


def _properties(device: Any = None) -> dict[str, int]:
    properties = _device_module().get_device_properties(device)
    return {"num_aicore": properties.cube_core_num, "num_vectorcore": properties.vector_core_num, "max_shared_mem": 192 << 10}


def _launch(kernel: Any, *args: Any, grid: Any = None, warmup: bool = False, **options: Any) -> None:
    """Take the place of a launch, after which all of a tensor's memory that the kernel may write is unknown."""
    if warmup:
        return
    add_finding(f"the kernel {kernel.fn.__name__} of Triton is not computed")
    engine: Any = loaded_library(RUNTIME_LIBRARIES[0])
    torch = sys.modules["torch"]
    given = dict(zip(kernel.arg_names, args, strict=False)) | options
    _ = torch.npu.current_stream().npu_stream  # launches what torch_npu's queue holds
    for name in _written(kernel):
        if isinstance(tensor := given.get(name), torch.Tensor) and tensor.device.type == "npu":
            storage = tensor.untyped_storage()
            engine.torchAclnnHostForgetValues(ctypes.c_void_p(storage.data_ptr()), ctypes.c_size_t(storage.nbytes()))


@functools.cache
def _written(kernel: Any) -> frozenset[str]:
    """Return the parameters whose memory a kernel may write: those that it stores to, or hands to another function of its own."""
    made_of: defaultdict[str, set[str]] = defaultdict(set)
    written: set[str] = set()
    for node in ast.walk(ast.parse(textwrap.dedent(kernel.src))):
        if isinstance(node, ast.Assign):
            for name in _names(*node.targets):
                made_of[name] |= _names(node.value)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            written |= _names(*node.args, *node.keywords)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr.startswith(_WRITING):
            written |= _names(*node.args[:1])
    pending = list(written)
    while pending:
        new = made_of[pending.pop()] - written
        written |= new
        pending += new
    return frozenset(written) & frozenset(kernel.arg_names)


def _names(*nodes: ast.AST) -> set[str]:
    return {name.id for node in nodes for name in ast.walk(node) if isinstance(name, ast.Name)}
