"""A program: calls operators and functions with hostile arguments that hypothesis draws, and writes each call down before it makes it.

``python hostile_arguments.py <device> <examples> <file>``. Ends with an exception where a call gives another value than torch's, or raises
what is no documented exception; a crash leaves the call in the file.
"""

import sys
from pathlib import Path

import torch_aclnn
import numpy as np
import torch
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

RAISED = (RuntimeError, TypeError, ValueError, IndexError, OverflowError, NotImplementedError)
DEVICE, EXAMPLES, LAST_CALL = sys.argv[1], int(sys.argv[2]), Path(sys.argv[3])
INTEGERS = (0, 1, -1, 2, 3, 2**31 - 1, 2**31, -(2**31), 2**32, 2**62, 2**63 - 1, -(2**63), 2**63, 2**64)
ODD = (None, True, 2.5, "2", b"2", "", np.int64(2), np.float32(1), np.array([1, 2]), [], [[]], (1,) * 7, {}, torch.Size([2, 2]))

numbers = st.sampled_from(INTEGERS) | st.sampled_from(ODD)
hostile = numbers | st.lists(numbers, max_size=6) | st.lists(st.sampled_from(INTEGERS), min_size=1, max_size=5).map(tuple)


def tensor(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return (torch.arange(int(np.prod(shape))) % 7 - 3).reshape(shape).to(dtype).to(DEVICE)


# What makes another tensor of one; each keeps to what a program can get from torch.
CHANGES = (
    lambda t: t.double(),
    lambda t: t.half(),
    lambda t: t.bfloat16(),
    lambda t: t.long(),
    lambda t: t.bool(),
    lambda t: t.cfloat(),
    lambda t: t.cfloat().conj(),
    lambda t: t.cfloat().conj().imag,  # a negative view
    lambda t: t[..., :0],
    lambda t: t[:0],
    lambda t: t.unsqueeze(0),
    lambda t: t[0],
    lambda t: t.transpose(0, -1),
    lambda t: t.flatten()[:1].expand(t.shape),
    lambda t: t.flatten()[:1].as_strided((2**31, 2**31, 4, 4), (0, 0, 0, 0)),
    lambda t: t.cpu(),
    lambda t: t.to("meta"),
    lambda t: t.to_sparse() if t.device.type == "cpu" else t,
    lambda t: t.float().requires_grad_(),
    lambda t: torch.nn.Parameter(t.float()),
    lambda t: t.cpu().numpy(),
    lambda t: None,
)
G, X, V = (1, 2, 2, 2), (1, 2, 4, 4), (1, 2, 2, 2, 2)
ops, ours, theirs = torch.ops.torch_aclnn, torch_aclnn.functional, torch.nn.functional
channels = tuple(tensor(2) for _ in range(5))
OPERATORS = {
    ops.avg_pool2d_backward: (tensor(*G), X, [2, 2], [2, 2], [0, 0], False, True, None),
    ops.adaptive_avg_pool2d_backward: (tensor(*G), X),
    ops.adaptive_avg_pool3d_backward: (tensor(*V), (1, 2, 4, 4, 4)),
    ops.replication_pad2d_backward: (tensor(1, 2, 6, 6), X, [1, 1, 1, 1]),
    ops.reflection_pad2d_backward: (tensor(1, 2, 6, 6), X, [1, 1, 1, 1]),
    ops.max_unpool3d_backward: (tensor(1, 2, 4, 4, 4), tensor(*V, dtype=torch.int64).abs(), [4, 4, 4], [2, 2, 2], [0, 0, 0]),
    ops.batch_norm_elemt_backward: (tensor(*X), tensor(*X), *channels, tensor(2, dtype=torch.int32)),
}
FUNCTIONS = {
    (ours.avg_pool2d, theirs.avg_pool2d): (tensor(*X), 2, 2, 0, False, True, None),
    (ours.adaptive_avg_pool2d, theirs.adaptive_avg_pool2d): (tensor(*X), (2, 3)),
    (ours.adaptive_avg_pool3d, theirs.adaptive_avg_pool3d): (tensor(*V), (1, 2, 3)),
    (ours.replication_pad2d, lambda x, p: theirs.pad(x, p, mode="replicate")): (tensor(*X), (1, 1, 1, 1)),
    (ours.reflection_pad2d, lambda x, p: theirs.pad(x, p, mode="reflect")): (tensor(*X), (1, 1, 1, 1)),
    (ours.max_unpool3d, theirs.max_unpool3d): (tensor(*V), tensor(*V, dtype=torch.int64).abs(), 2, 2, 0),
    (ours.batch_norm, theirs.batch_norm): (tensor(*X), *(tensor(2) for _ in range(4)), True),
}


def is_bounded(arguments: tuple) -> bool:
    """Return whether no size would fill the memory: a tensor of gigabytes is allowed, and no bad argument."""
    sizes = [n for a in arguments if isinstance(a, (tuple, list)) for n in a] + [a for a in arguments if isinstance(a, (int, np.integer))]
    return all(not isinstance(n, int) or abs(n) < 1000 or n >= 2**31 - 1 or n < -1000 for n in sizes)


@st.composite
def calls(draw: st.DrawFn, table: dict) -> tuple:
    function = draw(st.sampled_from(list(table)))
    arguments = list(table[function])
    for _ in range(draw(st.integers(1, 2))):
        i = draw(st.integers(0, len(arguments) - 1))
        changed = arguments[i]
        if isinstance(changed, torch.Tensor):
            try:
                changed = draw(st.sampled_from(CHANGES))(changed)
            except RAISED:
                continue
            arguments[i] = changed
        else:
            arguments[i] = draw(hostile)
    if draw(st.integers(0, 9)) == 0:
        arguments = arguments[:-1] if draw(st.booleans()) else [*arguments, draw(hostile)]
    return function, tuple(arguments)


def described(argument: object) -> str:
    if isinstance(argument, torch.Tensor):
        layout = f"strides {argument.stride()}" if argument.layout == torch.strided else str(argument.layout)
        return f"tensor({tuple(argument.shape)}, {layout}, {argument.dtype})"
    return repr(argument)


def outcome(function, arguments: tuple):
    """The value on the CPU, or the exception, which must be one that is documented."""
    try:
        value = function(*arguments)
        if DEVICE == "npu":
            torch.npu.synchronize()
        return value.cpu() if isinstance(value, torch.Tensor) and value.device.type != "meta" else value
    except RAISED as error:
        return error


def write_down(name: str, arguments: tuple) -> None:
    LAST_CALL.write_text(f"{name}({', '.join(map(described, arguments))})")


BOUNDED = settings(max_examples=EXAMPLES, deadline=None, database=None, derandomize=True, phases=[Phase.generate],
                   suppress_health_check=list(HealthCheck))  # fmt: skip


@BOUNDED
@given(calls(OPERATORS))
def call_operators(call: tuple) -> None:
    function, arguments = call
    if not is_bounded(arguments):
        return
    write_down(str(function), arguments)
    outcome(function, arguments)
    tensors = [a for a in arguments if isinstance(a, torch.Tensor)]
    if tensors and hasattr(function, "out"):  # an output in an argument's memory
        outcome(lambda *a: function.out(*a, out=tensors[0]), arguments)


@BOUNDED
@given(calls(FUNCTIONS))
def call_functions(call: tuple) -> None:
    (function, reference), arguments = call
    if not is_bounded(arguments):
        return
    write_down(f"functional.{function.__name__}", arguments)
    ours_gave = outcome(function, arguments)
    if not isinstance(ours_gave, torch.Tensor) or ours_gave.device.type != "cpu":
        return
    # On the CPU, and for what ours takes: torch's own functions do not bear every argument.
    torch_gave = outcome(reference, tuple(a.detach().cpu() if isinstance(a, torch.Tensor) else a for a in arguments))
    if isinstance(torch_gave, torch.Tensor):
        torch.testing.assert_close(ours_gave, torch_gave, equal_nan=True)


call_operators()
call_functions()
LAST_CALL.write_text("")
print("ended well")
