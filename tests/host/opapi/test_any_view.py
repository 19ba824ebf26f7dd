"""Calls with arbitrary dimensions, strides and offsets: each is refused by name, or writes the output's elements and nothing else."""

import math
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.client import int64s
from support.dtypes import DType, Format, size_of
from support.operators import ENTRY_POINTS
from support.status import INVALID, NULL
from support.tensors import tensors_of

MOST_TENSORS = max(len(tensors_of(entry_point.good)) for entry_point in ENTRY_POINTS.values())
ARENA = 4096  # bytes of memory for each tensor
EXTREME = st.sampled_from([-(2**63), -(2**31), -1, 0, 2**31 - 1, 2**31, 2**32, 2**61, 2**62, 2**63 - 1])
SIZES = st.one_of(st.integers(0, 5), st.integers(0, 5), EXTREME)
STRIDES = st.one_of(st.integers(0, 9), st.integers(0, 9), EXTREME)


@st.composite
def views(draw, tensor):
    """Draw the shape, strides, offset and storage of a view that resembles the tensor."""
    shape = [draw(SIZES) if draw(st.integers(0, 9)) == 9 else size for size in tensor.shape]
    contiguous = [min(math.prod(max(s, 1) for s in shape[d + 1 :]), 2**62) for d in range(len(shape))]
    strides = [draw(STRIDES) if draw(st.integers(0, 5)) == 5 else stride for stride in contiguous]
    offset = draw(st.one_of(st.just(0), st.integers(0, 3), EXTREME))
    storage = draw(st.sampled_from([ARENA // 4, 2**62, 1, -3]))
    return shape, strides, offset, storage


def elements_of(view, item):
    """Return the positions in the arena of the bytes of the view's elements."""
    shape, strides, offset, _ = view
    positions = [offset]
    for size, stride in zip(shape, strides, strict=True):
        positions = [start + i * stride for start in positions for i in range(size)]
    return {position * item + byte for position in positions for byte in range(item)}


@pytest.fixture
def arenas(aclnn):
    """Return device memory for as many tensors as an operator has."""
    addresses = [aclnn.allocate(ARENA) for _ in range(MOST_TENSORS)]
    yield addresses
    for address in addresses:
        aclnn.free(address)


@pytest.mark.parametrize("entry_point", ENTRY_POINTS)
def test_a_call_is_refused_by_name_or_writes_only_its_output(aclnn, arenas, entry_point):
    good, output = ENTRY_POINTS[entry_point].good, ENTRY_POINTS[entry_point].output
    tensors = tensors_of(good)
    memory = dict(zip(tensors, arenas, strict=False))
    outcomes = set()

    @settings(max_examples=100, derandomize=True)
    @given(drawn=st.fixed_dictionaries({name: views(tensor) for name, tensor in tensors.items()}))
    def call(drawn):
        # Zeros are indices that exist.
        before = {name: bytes([0 if tensor.dtype == DType.INT64 else 0xA5]) * ARENA for name, tensor in tensors.items()}
        arguments = dict(good)
        for name, (shape, strides, offset, storage) in drawn.items():
            aclnn.acl.write(memory[name], before[name])
            arguments[name] = aclnn.opapi.aclCreateTensor(
                int64s(shape), len(shape), tensors[name].dtype, int64s(strides), offset,
                Format(tensors[name].real_format()), int64s([storage]), 1, memory[name],
            )  # fmt: skip
        with aclnn.call(entry_point, arguments) as made:
            code = made.phase1()
            if code == 0:
                assert made.phase2() == 0, aclnn.message()
                assert aclnn.acl.aclrtSynchronizeStream(None) == 0
            else:
                assert code in (NULL, INVALID)
                assert re.fullmatch(rf"{entry_point}: \w+: expected .+, got .+", aclnn.message())
        outcomes.add(code)
        for name in tensors:
            aclnn.destroy("Tensor", arguments[name])
            after = aclnn.acl.read(memory[name], ARENA)
            if after != before[name]:
                assert code == 0 and name == output
                changed = {i for i in range(ARENA) if after[i] != before[name][i]}
                assert changed <= elements_of(drawn[name], size_of(tensors[name].dtype))

    call()
    assert {0, INVALID} <= outcomes
