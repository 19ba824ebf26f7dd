"""The refusal of inductor, torch.compile's default backend, on ``npu``: it needs a compiler for NPUs, which the engine is not."""

from typing import Any, NoReturn

MESSAGE = (
    "inductor, torch.compile's default backend, has no compiler for npu on the torch_aclnn host engine; use "
    'torch.compile(..., backend="aot_eager"), or backend="npugraph_ex" of torch_npu 2.10 or later, which captures graphs'
)
# The names in torch.npu under which inductor looks for the classes that compile for an out-of-tree device.
_NAMES = ("Scheduling", "PythonWrapperCodegen", "CppWrapperCodegen", "WrapperFxCodegen")


class _RefusingType(type):
    def __getattr__(cls, name: str) -> NoReturn:
        if name.startswith("__"):  # tools that inspect modules read these attributes of every class
            raise AttributeError(name)
        raise RuntimeError(MESSAGE)


class _Refusing(metaclass=_RefusingType):
    """A class that refuses each use: what inductor does first with it depends on the version of torch and on the graph."""

    def __init__(self, *_: Any) -> None:
        raise RuntimeError(MESSAGE)


def refuse() -> None:
    """Make inductor refuse ``npu`` in one message. A compiler that torch_npu finds, such as triton-ascend, replaces this."""
    import torch

    device_module = torch.get_device_module("npu")
    for name in _NAMES:
        if not hasattr(device_module, name):
            setattr(device_module, name, _Refusing)
