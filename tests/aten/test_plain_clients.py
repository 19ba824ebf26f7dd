"""Entry points that C++ programs call and torch_npu does not: each against its definition in float64."""

import ctypes
import itertools
import math

import pytest
import torch

from cases import DEVICE
from direct import call, failure, moved_between_the_phases, refusal, scalar
from support.marks import CUBE_MATH_TYPE, STRICT

INVALID, BEYOND_STORAGE = 161002, 561103
HALF_TYPES = (torch.float32, torch.float16)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.int32], ids=str)
@pytest.mark.parametrize("descending", [False, True])
def test_argsort(dtype, descending):
    values = torch.tensor([[3, 1, 2, 1], [0, 0, -5, 7]], dtype=dtype)
    out = torch.empty(2, 4, dtype=torch.int64, device=DEVICE)
    call("aclnnArgsort", values.to(DEVICE), -1, descending, out)
    # Equal values stay in their order.
    expected = [sorted(range(4), key=lambda i, row=row: (-row[i] if descending else row[i], i)) for row in values.tolist()]
    assert out.tolist() == expected


@pytest.mark.parametrize(("start", "end", "step"), [(0, 7, 1), (1, 6, 2), (-3, 100, 1), (-100, -2, 3), (5, 2, 1)])
def test_slice(start, end, step):
    values = torch.arange(21).reshape(3, 7)
    expected = [row[slice(start, end, step)] for row in values.tolist()]
    out = torch.empty(3, len(expected[0]), dtype=torch.int64, device=DEVICE)
    call("aclnnSlice", values.to(DEVICE), 1, start, end, step, out)
    assert out.tolist() == expected


def test_slice_that_out_does_not_fit_is_refused():
    values, out = torch.zeros(3, 7, device=DEVICE), torch.zeros(3, 3, device=DEVICE)
    code, message = refusal("aclnnSlice", values, 1, 0, 2, 1, out)
    assert code == INVALID and "out: expected shape [3, 2], got shape [3, 3]" in message


def test_slice_of_several_dimensions():
    values = torch.arange(210).reshape(5, 6, 7)
    out = torch.empty(2, 6, 3, dtype=torch.int64, device=DEVICE)
    call("aclnnSliceV2", values.to(DEVICE), [-4, 1], [99, -1], [0, 2], [3, 2], out)
    assert out.cpu().equal(values[-4:99:3, :, 1:-1:2])
    code, message = refusal("aclnnSliceV2", values.to(DEVICE), [0, 0], [1], [0, 2], [1, 1], out)
    assert code == INVALID and "ends: expected 2 values, as axes has, got 1" in message


def test_expand():
    values, out = torch.arange(3.0).reshape(3, 1), torch.empty(2, 3, 4, device=DEVICE)
    call("aclnnExpand", values.to(DEVICE), [2, -1, 4], out)
    assert out.cpu().equal(values.expand(2, 3, 4))
    code, message = refusal("aclnnExpand", values.to(DEVICE), [2, 4, 4], out)
    assert code == INVALID and "size: expected a shape to which self expands, of shape [3, 1], got [2, 4, 4]" in message


def test_split():
    values = torch.arange(14).reshape(2, 7)
    outs = tuple(torch.empty(2, n, dtype=torch.int64, device=DEVICE) for n in (3, 3, 1))
    call("aclnnSplitTensor", values.to(DEVICE), ctypes.c_uint64(3), 1, outs)
    assert [out.tolist() for out in outs] == [part.tolist() for part in values.split(3, 1)]
    code, message = refusal("aclnnSplitTensor", values.to(DEVICE), ctypes.c_uint64(4), 1, outs)
    assert code == INVALID and "out: expected 2 tensors, got 3" in message


@pytest.mark.parametrize("dtype", HALF_TYPES, ids=str)
@pytest.mark.parametrize("turned", [(0, 0), (1, 0), (0, 1), (1, 1)], ids=str)
def test_gemm(turned, dtype):
    a, b, c = torch.randn(3, 4).to(dtype), torch.randn(4, 5).to(dtype), torch.randn(5).to(dtype)
    exact = 0.5 * a.double() @ b.double() + 2 * c.double()
    factors = [(x.t().contiguous() if turns else x).to(DEVICE) for x, turns in zip((a, b), turned, strict=True)]
    out = torch.empty(3, 5, dtype=dtype, device=DEVICE)
    call("aclnnGemm", *factors, c.to(DEVICE), ctypes.c_float(0.5), ctypes.c_float(2), *turned, out, ctypes.c_int8(CUBE_MATH_TYPE))
    torch.testing.assert_close(out.cpu(), exact.to(dtype))


@pytest.mark.parametrize("depth", [1, 2])
def test_scatter_at_positions(depth):
    data, index = torch.zeros(3, 4), torch.tensor([[2, 1], [0, 3]])[:, :depth]
    updates = torch.arange(1.0, 9).reshape(2, 4) if depth == 1 else torch.tensor([5.0, 6.0])
    expected = data.clone()
    for place, update in zip(index.tolist(), updates, strict=True):
        expected[tuple(place)] = update
    out = torch.empty(3, 4, device=DEVICE)
    call("aclnnScatterNd", data.to(DEVICE), index.to(DEVICE), updates.to(DEVICE), out)
    assert out.cpu().equal(expected)
    updated = data.to(DEVICE)
    call("aclnnScatterNdUpdate", updated, index.to(DEVICE), updates.to(DEVICE))
    assert updated.cpu().equal(expected)
    code, message = failure("aclnnScatterNdUpdate", updated, index.to(DEVICE) + 3, updates.to(DEVICE))
    assert code == 507015 and "indices: expected values in [0, 3), got 5" in message


@pytest.mark.parametrize("align", [False, True])
def test_gradient_of_bilinear_upsampling(align):
    grad, out = torch.randn(2, 3, 6, 8), torch.empty(2, 3, 3, 5, device=DEVICE)
    x = torch.zeros(2, 3, 3, 5, dtype=torch.float64, requires_grad=True)
    torch.nn.functional.interpolate(x, size=(6, 8), mode="bilinear", align_corners=align).backward(grad.double())
    call("aclnnUpsampleBilinear2dBackward", grad.to(DEVICE), [6, 8], [2, 3, 3, 5], align, 0.0, 0.0, out)
    torch.testing.assert_close(out.cpu().double(), x.grad, rtol=1e-5, atol=1e-6)


def test_permute():
    values = torch.arange(24).reshape(2, 3, 4)
    out = torch.empty(4, 2, 3, dtype=torch.int64, device=DEVICE)
    call("aclnnPermute", values.to(DEVICE), [2, 0, -2], out)
    for i, j, k in itertools.product(range(4), range(2), range(3)):
        assert out[i, j, k].item() == values[j, k, i].item()
    code, message = refusal("aclnnPermute", values.to(DEVICE), [0, 1], out)
    assert code == INVALID and "dims: expected each of the 3 dimensions of self, got [0, 1]" in message


@pytest.mark.parametrize("index_type", [torch.int32, torch.int64], ids=str)
def test_gather_v2(index_type):
    values, index = torch.arange(24.0).reshape(2, 3, 4), torch.tensor([[2, 0], [1, 1]])
    out = torch.empty(2, 2, 2, 4, device=DEVICE)
    call("aclnnGatherV2", values.to(DEVICE), 1, index.to(index_type).to(DEVICE), out)
    for i, j, k in itertools.product(range(2), range(2), range(2)):
        assert out[i, j, k].tolist() == values[i, index[j, k]].tolist()


@pytest.mark.parametrize("in_place", [False, True])
def test_index_fill_tensor(in_place):
    values = torch.arange(12).reshape(3, 4)
    expected = [[-7 if column in (0, 3) else number for column, number in enumerate(row)] for row in values.tolist()]
    source, out = values.to(DEVICE), torch.empty(3, 4, dtype=torch.int64, device=DEVICE)
    if in_place:
        call("aclnnInplaceIndexFillTensor", source, 1, [0, -1], scalar(-7))
        out = source
    else:
        call("aclnnIndexFillTensor", source, 1, [0, -1], scalar(-7), out)
        assert source.tolist() == values.tolist()
    assert out.tolist() == expected
    code, message = refusal("aclnnInplaceIndexFillTensor", source, 1, [4], scalar(0))
    assert code == INVALID and "index: expected positions in -4..3, got 4" in message


@pytest.mark.parametrize("dtype", HALF_TYPES, ids=str)
@pytest.mark.parametrize(
    ("kernel", "strides", "pads", "ceil"),
    [([2, 3], [], [], 0), ([2], [1], [1], 0), ([3, 2], [2, 1], [1, 0], 0), ([3], [2], [1, 1, 1, 1], 0), ([2], [2], [0, 0], 1)],
)
def test_max_pool(dtype, kernel, strides, pads, ceil):
    values = torch.randn(2, 3, 7, 8).to(dtype)
    steps, pad = (strides or kernel) * 2, (pads or [0]) * 2
    axes = [windows(size, (kernel * 2)[d], steps[d], pad[d], ceil) for d, size in enumerate(values.shape[2:])]
    expected = torch.tensor(
        [[[[plane[rows][:, columns].max() for columns in axes[1]] for rows in axes[0]] for plane in image] for image in values.double()]
    )
    out = torch.empty(expected.shape, dtype=dtype, device=DEVICE)
    call("aclnnMaxPool", values.to(DEVICE), kernel, strides, 0, pads, [1], ceil, out)
    assert torch.equal(out.cpu(), expected.to(dtype))


def windows(size, kernel, stride, pad, ceil):
    """Return the places that each window covers."""
    count = (size + 2 * pad - kernel) / stride
    starts = [i * stride - pad for i in range((math.ceil(count) if ceil else math.floor(count)) + 1)]
    return [list(range(max(start, 0), min(start + kernel, size))) for start in starts if start < size]


@pytest.mark.parametrize(
    ("pads", "dilations", "says"),
    [
        ([0, 0, 0], [1], "pads: expected 0, 1, 2 or 4 values, got 3"),
        ([0, 1, 0, 1], [1], "pads: expected four values that are the same, got [0, 1, 0, 1]"),
        ([2], [1], "pads: expected at most half of the window, 1, got 2"),
        ([-1], [1], "pads: expected values of at least 0, got [-1]"),
        ([0], [2], "dilations: expected 1, as no other is supported, got [2]"),
    ],
)
def test_max_pool_refuses(pads, dilations, says):
    x, out = torch.zeros(1, 1, 4, 4, device=DEVICE), torch.zeros(1, 1, 2, 2, device=DEVICE)
    code, message = refusal("aclnnMaxPool", x, [2, 2], [2, 2], 0, pads, dilations, 0, out)
    assert code == INVALID and says in message


@pytest.mark.parametrize("dtype", HALF_TYPES, ids=str)
def test_upsample_nearest2d(dtype):
    values = torch.randn(2, 3, 4, 5).to(dtype)
    out = torch.empty(2, 3, 7, 10, dtype=dtype, device=DEVICE)
    call("aclnnUpsampleNearest2d", values.to(DEVICE), [7, 10], out)
    rows, columns = [i * 4 // 7 for i in range(7)], [i * 5 // 10 for i in range(10)]
    assert torch.equal(out.cpu(), values[:, :, rows][:, :, :, columns])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16], ids=str)
def test_softmax_cross_entropy_with_logits(dtype):
    features, labels = (3 * torch.randn(4, 6)).to(dtype), torch.softmax(torch.randn(4, 6).double(), 1).to(dtype)
    powers = features.double().exp()
    probabilities = powers / powers.sum(1, keepdim=True)
    loss, backprop = torch.empty(4, dtype=dtype, device=DEVICE), torch.empty(4, 6, dtype=dtype, device=DEVICE)
    call("aclnnSoftmaxCrossEntropyWithLogits", features.to(DEVICE), labels.to(DEVICE), loss, backprop)
    torch.testing.assert_close(loss.cpu(), -(labels.double() * probabilities.log()).sum(1).to(dtype))
    torch.testing.assert_close(backprop.cpu(), (probabilities - labels.double()).to(dtype))


def test_ger():
    self, vec2 = torch.randn(3), torch.randn(4)
    out = torch.empty(3, 4, device=DEVICE)
    call("aclnnGer", self.to(DEVICE), vec2.to(DEVICE), out)
    assert torch.equal(out.cpu(), (self.double()[:, None] * vec2.double()[None]).float())


def weight_size(shape, dtype):
    library, size = ctypes.CDLL("libopapi.so"), ctypes.c_uint64()
    library.aclCreateIntArray.restype = ctypes.c_void_p
    array = ctypes.c_void_p(library.aclCreateIntArray((ctypes.c_int64 * len(shape))(*shape), ctypes.c_uint64(len(shape))))
    return library.aclnnCalculateMatmulWeightSizeV2(array, dtype, ctypes.byref(size)), size.value


def test_the_size_of_a_matmul_weight_is_that_of_the_document():
    assert weight_size([510, 510], 1) == (0, 262144)
    assert weight_size([510, 270], 2) == (0, 147456)
    assert weight_size([510], 1)[0] == INVALID and weight_size([2, 2], 3)[0] == INVALID
    assert weight_size([1 << 40, 1 << 40], 1)[0] == INVALID


@pytest.mark.parametrize(("dtype", "columns"), [(torch.float16, 16), (torch.bfloat16, 16), (torch.int8, 32)], ids=str)
def test_a_matmul_weight_is_rearranged_in_place(dtype, columns):
    """Blocks of 16 rows; the blocks of one column of them lie behind each other, and zeros fill up the last."""
    rows, features = 18, 35
    weight = (torch.arange(rows * features) % 100 + 1).reshape(rows, features).to(dtype)
    down, across = math.ceil(rows / 16), math.ceil(features / columns)
    memory = torch.zeros(across * down * 16 * columns, dtype=dtype, device=DEVICE)
    memory[: weight.numel()].copy_(weight.flatten())
    call("aclnnTransMatmulWeight", memory[: weight.numel()].view(rows, features))
    blocks = memory.cpu().view(across, down, 16, columns)
    for n1, m1, m0, n0 in itertools.product(range(across), range(down), range(16), range(columns)):
        row, column = 16 * m1 + m0, columns * n1 + n0
        expected = weight[row, column].item() if row < rows and column < features else 0
        assert blocks[n1, m1, m0, n0].item() == expected


def floats(address, sizes, strides, storage, offset=0):
    """A handle as a program makes it."""
    library = ctypes.CDLL("libopapi.so")
    library.aclCreateTensor.restype = ctypes.c_void_p
    dims, steps, all_of_it = ((ctypes.c_int64 * len(values))(*values) for values in (sizes, strides, storage))
    counts = ctypes.c_uint64(len(sizes)), ctypes.c_uint64(len(storage))
    made = library.aclCreateTensor(dims, counts[0], 0, steps, ctypes.c_int64(offset), 2, all_of_it, counts[1], ctypes.c_void_p(address))
    return ctypes.c_void_p(made)


def test_what_is_written_may_exceed_the_storage_that_its_handle_tells():
    """Within its allocation, as hardware takes it, but for strict mode; what is read may not."""
    memory, source = torch.zeros(5, device=DEVICE), torch.tensor([1.0, 2, 3], device=DEVICE)
    output = floats(memory.data_ptr(), [3], [2], [3])
    if STRICT:
        code, message = refusal("aclnnInplaceCopy", output, source)
        assert code == INVALID and "selfRef: expected a view within its storage" in message
    else:
        call("aclnnInplaceCopy", output, source)
        assert memory.tolist() == [1, 0, 2, 0, 3]
    code, message = refusal("aclnnInplaceCopy", source, floats(memory.data_ptr(), [3], [2], [3]))
    assert code == BEYOND_STORAGE and "src: expected a view within its storage" in message


@pytest.mark.parametrize("count", [1, 11, 12, 13, 200])
def test_array_of_any_length_keeps_its_values(count):
    """Those of a short one lie in the handle itself."""
    sizes = [1 + i % 3 for i in range(count)]
    source = torch.arange(float(sum(sizes)), device=DEVICE)
    parts = tuple(torch.zeros(size, device=DEVICE) for size in sizes)
    call("aclnnSplitWithSize", source, sizes, 0, parts)
    assert torch.equal(torch.cat(parts), source)


@pytest.mark.parametrize(("sizes", "strides", "offset"), [([3], [-1], 2), ([2, 3], [-3, 1], 3), ([1], [-1], 0), ([3], [1], -1)], ids=str)
def test_negative_strides_and_offsets_are_refused(sizes, strides, offset):
    """The documents of aclCreateTensor allow none: also where a reversed view lies within its storage, and where a stride has no effect."""
    memory = torch.arange(8.0, device=DEVICE)
    view = floats(memory[1:].data_ptr(), sizes, strides, [7], offset)
    other = torch.zeros(sizes, device=DEVICE)
    for name, arguments in {"src": (other, view), "selfRef": (view, other)}.items():
        code, message = refusal("aclnnInplaceCopy", *arguments)
        assert code == INVALID, message
        assert f"{name}: expected strides and an offset that are not negative, got shape" in message
    assert memory.tolist() == [*range(8)] and not other.any()


def test_address_that_is_set_later():
    memory, source = torch.zeros(3, device=DEVICE), torch.tensor([1.0, 2, 3], device=DEVICE)
    handle, address, library = floats(None, [3], [1], [3]), ctypes.c_void_p(), ctypes.CDLL("libopapi.so")
    assert library.aclSetRawTensorAddr(handle, ctypes.c_void_p(memory.data_ptr())) == 0
    assert library.aclGetRawTensorAddr(handle, ctypes.byref(address)) == 0 and address.value == memory.data_ptr()
    call("aclnnInplaceCopy", handle, source)
    assert memory.tolist() == [1, 2, 3]
    # Between the phases it must stay: the operator has looked at it.
    code, message = moved_between_the_phases("aclnnInplaceCopy", handle, ctypes.c_void_p(source.data_ptr()), source)
    assert code == INVALID and "selfRef: expected the data address of phase 1" in message
