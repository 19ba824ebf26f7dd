"""The refusal of inductor, torch.compile's default backend, on ``npu``: it needs a compiler for NPUs, which the engine is not."""

from typing import Any, NoReturn

MESSAGE = (
    "inductor, torch.compile's default backend, has no compiler for npu on the torch_aclnn host engine; use "
    'torch.compile(..., backend="aot_eager"), or backend="npugraph_ex" of torch_npu 2.10 or later, which captures graphs'
)
# Where inductor looks for what compiles for a device that torch does not know, in torch.npu.
_NAMES = ("Scheduling", "PythonWrapperCodegen", "CppWrapperCodegen", "WrapperFxCodegen")


class _RefusingType(type):
    def __getattr__(cls, name: str) -> NoReturn:
        if name.startswith("__"):  # of Python, and asked of every class by what looks at modules
            raise AttributeError(name)
        raise RuntimeError(MESSAGE)


class _Refusing(metaclass=_RefusingType):
    """What inductor does first with the class depends on the version of torch and on the graph."""

    def __init__(self, *_: Any) -> None:
        raise RuntimeError(MESSAGE)


def refuse() -> None:
    """Have inductor refuse ``npu`` in one message. A compiler that torch_npu finds, such as triton-ascend, takes its place."""
    import torch

    device_module = torch.get_device_module("npu")
    for name in _NAMES:
        if not hasattr(device_module, name):
            setattr(device_module, name, _Refusing)
