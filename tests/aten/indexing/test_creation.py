"""creation.cpp against definitions in float64."""

import pytest
import torch
from checks import DEVICE, FLOATS, on_npu, zeros

from cases import LAYOUTS, booleans, integers, randn, rows, table, values
from direct import call, fraction, refuses, scalar

ALL_DTYPES = (*FLOATS, torch.float64, torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64, torch.bool)
FROM = (torch.float32, torch.int64, torch.bool, torch.bfloat16)


def created(name, make, *dtypes):
    """Return cases of calls without tensors; the input only says on which device."""

    def on_device_of(dtype):
        return lambda x: make(device=x.device, dtype=dtype)

    return [case for dtype in dtypes for case in rows(f"{name}-{dtype}", on_device_of(dtype), values([0]))]


CASES = [
    *created("ones", lambda **kw: torch.ones(2, 3, **kw), torch.float32, torch.int64, torch.bool),
    *created("full", lambda **kw: torch.full((2, 3), 1, **kw), *ALL_DTYPES),
    *created("full-complex", lambda **kw: torch.full((2, 3), 1.5 + 2j, **kw), torch.complex64),
    *created("full-large", lambda **kw: torch.full((2,), 2**62 + 1, **kw), torch.int64),
    *created("arange", lambda **kw: torch.arange(7, **kw), torch.int64, torch.int32, torch.float32, torch.float16),
    *created("arange-step", lambda **kw: torch.arange(1.0, 3.0, 0.3, **kw), torch.float32),
    *created("arange-large", lambda **kw: torch.arange(2**60, 2**60 + 3, **kw), torch.int64),
    *created("range", lambda **kw: torch.range(1, 4, 0.5, **kw), torch.float32),
    *created("linspace", lambda **kw: torch.linspace(-1, 2, 11, **kw), torch.float32),
    *created("linspace-one", lambda **kw: torch.linspace(3, 9, 1, **kw), torch.float32),
    *created("logspace-base", lambda **kw: torch.logspace(0, 3, 4, base=2, **kw), torch.float32),
    *created("eye-wide", lambda **kw: torch.eye(2, 4, **kw), torch.float32, torch.int64),
    *rows("zero_", lambda x: x.zero_(), randn(2, 3), layouts=LAYOUTS),
    *rows("fill_", lambda x: x.fill_(1.1), randn(2, 3), dtypes=FLOATS, layouts=LAYOUTS),
    *rows("fill_-tensor-dtype", lambda x, v: x.fill_(v), randn(2, 3), randn(dtype=torch.int64), layouts=LAYOUTS),
    *rows("fill_-overlap", lambda x: x.as_strided((2, 5, 4), (2, 3, 7)).fill_(1.5), randn(40)),
    *rows("fill_diagonal_-wrap", lambda x: x.fill_diagonal_(7, wrap=True), randn(7, 3), layouts=LAYOUTS),
    *rows("one_hot-open", torch.nn.functional.one_hot, integers(6, high=4)),
    *rows("one_hot-empty", lambda x: torch.nn.functional.one_hot(x, 1 << 40), integers(0)),
    *rows("clone", torch.clone, randn(3, 4), dtypes=FROM, layouts=LAYOUTS),
    *rows("copy_", lambda x, y: x.copy_(y), randn(3, 4), randn(4), layouts=LAYOUTS),
    *[
        case
        for to in ALL_DTYPES  # each type of FROM is converted to each of them, and the first to the others
        if to not in (torch.float64, torch.uint8)  # torch_npu makes float32 of float64, and uint8 has no negative numbers
        for case in rows(f"to-{to}", lambda x, to=to: x.to(to), randn(3, 4), dtypes=FROM if to in FROM else FROM[:1])
    ],
    *rows("to-uint8", lambda x: x.to(torch.uint8), booleans(3, 4)),
    *rows("to-complex", lambda x: x.to(torch.complex64), randn(3)),
    *rows("conjugated", lambda x: x.conj().clone(), randn(3, 4), dtypes=(torch.complex64,), layouts=LAYOUTS),
    *rows("conjugated-one", lambda x: x.conj().clone(), randn(1), dtypes=(torch.complex64,)),
]
test_torchs_functions = table(CASES)


def test_cast():
    x = torch.randn(4, 6, generator=torch.Generator().manual_seed(0))
    there = on_npu(torch.ops.npu.npu_dtype_cast, x, torch.float16)
    assert there.dtype == torch.float16 and torch.equal(there.cpu(), x.half())
    refuses("out: expected FLOAT, as dtype is, got FLOAT16", "aclnnCast", x.to(DEVICE), 0, there)


def test_strided_transfer_in_both_directions():
    x = torch.randn(4, 6, generator=torch.Generator().manual_seed(0))
    there = x.to(DEVICE)
    assert torch.equal(there.t()[1:, ::2].cpu(), x.t()[1:, ::2])
    there[::2, 1:3] = x[::2, 3:5].to(DEVICE)
    x[::2, 1:3] = x[::2, 3:5].clone()
    assert torch.equal(there.cpu(), x)


@pytest.mark.parametrize("number", [fraction(65504.0), scalar(-65504)])
def test_the_largest_number_of_a_type_fills_it(number):
    x = zeros(2, dtype=torch.float16)
    call("aclnnInplaceFillScalar", x, number)
    assert x.abs().tolist() == [65504, 65504]
