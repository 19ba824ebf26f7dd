"""Max unpooling: the gradient moves elements exactly, through aclnnMaxUnpool3dBackward and the same kernels on cpu."""

import torch_aclnn
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from support import layouts
from support.marks import host_engine_only
from support.operators.max_unpool3d import tensor_gradient

op = torch.ops.torch_aclnn.max_unpool3d_backward

DTYPES = (torch.float32, torch.float16, torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64, torch.float64)
STRIDE, PADDING = (2, 2, 2), (0, 0, 0)


def sample(leading, pooled, output_size, dtype=torch.float32) -> tuple[torch.Tensor, torch.Tensor]:
    grad_output = torch.randint(-100, 100, (*leading, *output_size)).to(dtype)
    indices = torch.randint(0, grad_output[0].numel() // (leading[1] if len(leading) == 2 else 1), (*leading, *pooled))
    return grad_output, indices


@pytest.mark.parametrize("layout", layouts.LAYOUTS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("leading", [(2, 3), (3,)])
def test_gradient_takes_each_element_from_its_place(device, dtype, leading, layout):
    grad_output, indices = sample(leading, (2, 3, 2), (4, 6, 5), dtype)
    grad_input = op(layout(grad_output).to(device), layout(indices).to(device), (4, 6, 5), STRIDE, PADDING)
    assert grad_input.dtype == dtype and grad_input.device.type == device
    assert torch.equal(grad_input.cpu(), tensor_gradient(grad_output, indices))


@settings(max_examples=40, deadline=None)
@given(sizes=st.lists(st.integers(1, 5), min_size=8, max_size=8))
def test_any_shape_takes_each_element_from_its_place(sizes):
    grad_output, indices = sample(sizes[:2], sizes[2:5], sizes[5:])
    for device in ("cpu", "npu"):
        grad_input = op(grad_output.to(device), indices.to(device), sizes[5:], STRIDE, PADDING)
        assert torch.equal(grad_input.cpu(), tensor_gradient(grad_output, indices))


def test_nan_and_negative_zero_keep_their_bits(device):
    grad_output = torch.tensor([float("nan"), -0.0, float("inf"), 1e-45]).view(1, 1, 1, 1, 4)
    indices = torch.tensor([3, 2, 1, 0]).view(1, 1, 1, 1, 4)
    grad_input = op(grad_output.to(device), indices.to(device), (1, 1, 4), STRIDE, PADDING)
    assert torch.equal(grad_input.cpu().view(torch.int32), grad_output.flip(-1).view(torch.int32))


def test_an_empty_batch_gives_an_empty_gradient(device):
    indices = torch.empty(0, 3, 1, 1, 1, dtype=torch.int64, device=device)
    assert op(torch.empty(0, 3, 2, 2, 2, device=device), indices, (2, 2, 2), STRIDE, PADDING).shape == (0, 3, 1, 1, 1)


def test_out_that_is_not_contiguous_receives_the_result(device):
    grad_output, indices = (t.to(device) for t in sample((2, 3), (2, 3, 2), (4, 6, 5)))
    out = layouts.offset_and_gaps(torch.zeros(indices.shape, device=device))
    op.out(grad_output, indices, (4, 6, 5), STRIDE, PADDING, out=out)
    assert torch.equal(out.cpu(), op(grad_output, indices, (4, 6, 5), STRIDE, PADDING).cpu())


def test_an_index_outside_the_plane_is_an_error_at_the_call_on_cpu():
    indices = torch.tensor([0, 4]).view(1, 1, 1, 1, 2)
    with pytest.raises(
        RuntimeError,
        match=r"max_unpool3d_backward: indices: expected values below.*got 4 at position \[0, 0, 0, 0, 1\]",
    ):
        op(torch.ones(1, 1, 1, 1, 4), indices, (1, 1, 4), STRIDE, PADDING)


@pytest.mark.parametrize("memory_format", [torch.contiguous_format, torch.channels_last_3d])
@pytest.mark.parametrize("channels", [512, 3])
def test_the_first_index_outside_is_named_however_threads_share_the_work(channels, memory_format):
    indices = torch.zeros(1, channels, 4, 4, 4, dtype=torch.int64)
    indices[0, channels // 2, 1, 2, 3], indices[0, channels - 1, 0, 0, 0] = 512, -7
    with pytest.raises(RuntimeError, match=rf"got 512 at position \[0, {channels // 2}, 1, 2, 3\]"):
        torch.ops.torch_aclnn.max_unpool3d_backward(
            torch.ones(1, channels, 8, 8, 8), indices.contiguous(memory_format=memory_format), [8, 8, 8], [2, 2, 2], [0, 0, 0]
        )


# Rows of up to 32 adjacent channels are joined to blocks of 64 elements where these are 2048 or more.
@pytest.mark.parametrize("out_format", [torch.contiguous_format, torch.channels_last_3d])
@pytest.mark.parametrize("dtype", [torch.int8, torch.float16, torch.float32, torch.float64])
@pytest.mark.parametrize("channels", [2, 3, 7, 16, 31, 32, 33])
def test_adjacent_channels_take_each_element_from_its_place(channels, dtype, out_format):
    grad_output, indices = sample((3, channels), (7, 6, 17), (4, 6, 5), dtype)
    out = torch.empty(indices.shape, dtype=dtype).to(memory_format=out_format)
    op.out(layouts.channels_last(grad_output), layouts.channels_last(indices), (4, 6, 5), STRIDE, PADDING, out=out)
    assert torch.equal(out, tensor_gradient(grad_output, indices))


@pytest.mark.parametrize("later", [None, (0, 0, 0), (6, 5, 16)], ids=str)
@pytest.mark.parametrize("channels", [2, 7, 32])
def test_the_first_index_outside_is_named_among_adjacent_channels(channels, later):
    """In the order of the elements, where a later channel may lie before it in memory."""
    grad_output, indices = sample((3, channels), (7, 6, 18), (4, 6, 5))
    indices[2, channels - 2, 6, 5, 17] = 120
    if later:
        indices[(2, channels - 1, *later)] = -1
    with pytest.raises(RuntimeError, match=rf"got 120 at position \[2, {channels - 2}, 6, 5, 17\]"):
        op(layouts.channels_last(grad_output), layouts.channels_last(indices), (4, 6, 5), STRIDE, PADDING)


def test_the_indices_of_a_pooling_on_npu_are_kept_as_they_are():
    pooled, indices = torch.nn.functional.max_pool3d(torch.randn(2, 8, 8, 8, 8).npu(), 2, return_indices=True)
    assert indices.dtype == torch.int32
    pooled.requires_grad_()
    torch.npu.synchronize()
    before = torch.npu.memory_allocated()
    unpooled = torch_aclnn.functional.max_unpool3d(pooled, indices, 2)
    torch.npu.synchronize()
    assert torch.npu.memory_allocated() - before < unpooled.nbytes + indices.nbytes  # no copy of another type is kept
    unpooled.backward(torch.ones_like(unpooled))
    assert torch.equal(pooled.grad.cpu(), torch.ones(pooled.shape))


@host_engine_only
def test_the_entry_points_get_int64_indices_which_their_pages_list():
    pooled, indices = torch.nn.functional.max_pool3d(torch.randn(1, 2, 4, 4, 4).npu(), 2, return_indices=True)
    torch.npu.synchronize()
    torch_aclnn.host.reset_calls()
    torch_aclnn.functional.max_unpool3d(pooled.requires_grad_(), indices, 2).sum().backward()
    torch.npu.synchronize()
    calls = torch_aclnn.host.calls()
    assert [calls[f"aclnn{name}"] for name in ("InplaceCopy", "MaxUnpool3d", "MaxUnpool3dBackward")] == [2, 1, 1]


@host_engine_only
def test_an_index_outside_the_plane_is_an_error_at_the_next_synchronisation_on_npu():
    indices = torch.tensor([0, -1, 4, 3]).view(1, 1, 1, 1, 4).npu()
    grad_input = op(torch.ones(1, 1, 1, 1, 4).npu(), indices, (1, 1, 4), STRIDE, PADDING)
    with pytest.raises(RuntimeError, match="507015"):
        torch.npu.synchronize()
    assert grad_input.flatten().tolist() == [1, 0, 0, 1]  # and the stream works again


@pytest.mark.parametrize("shape", [(1, 2, 3, 4, 3), (2, 3, 4, 3)])
def test_gradcheck(device, shape):
    # CANN lists DOUBLE for this operator, so float64 is checked on both devices.
    pool = torch.nn.functional.max_pool3d(torch.rand(shape, device=device), 2, ceil_mode=True, return_indices=True)
    x = pool[0].cpu().double().to(device).requires_grad_()  # torch_npu's own double() gives float32
    fn = lambda x: torch_aclnn.functional.max_unpool3d(x, pool[1], 2, output_size=shape[-3:])
    assert torch.autograd.gradcheck(fn, x) and torch.autograd.gradgradcheck(fn, x)


def test_gradcheck_in_float32(device):
    # The map is linear, so a large step has no truncation error and float32 is exact enough.
    pool = torch.nn.functional.max_pool3d(torch.rand(1, 2, 2, 4, 4, device=device), 2, return_indices=True)
    x = pool[0].requires_grad_()
    fn = lambda x: torch_aclnn.functional.max_unpool3d(x, pool[1], 2)
    assert torch.autograd.gradcheck(fn, x, eps=1.0, atol=1e-4, rtol=1e-4)


def test_second_derivative_adds_where_two_elements_came_from_one_place(device):
    grad_output = torch.arange(4.0, device=device).view(1, 1, 1, 1, 4).requires_grad_()
    indices = torch.tensor([2, 2]).view(1, 1, 1, 1, 2).to(device)
    gathered = torch_aclnn.autograd.MaxUnpool3dBackward.apply(grad_output, indices, (1, 1, 4), STRIDE, PADDING)
    gathered.sum().backward()
    assert grad_output.grad.flatten().tolist() == [0, 0, 2, 0]


def test_bfloat16_goes_through_as_its_bits(device):
    pool = torch.nn.functional.max_pool3d(torch.rand(1, 2, 2, 4, 4, device=device), 2, return_indices=True)
    x = pool[0].bfloat16().requires_grad_()
    torch_aclnn.functional.max_unpool3d(x, pool[1], 2).square().sum().backward()
    assert torch.equal(x.grad.cpu(), (2 * x).detach().cpu())


def test_vmap_equals_a_loop(device):
    x, indices = torch.nn.functional.max_pool3d(torch.rand(3, 2, 2, 4, 4, device=device), 2, return_indices=True)
    fn = lambda x, i: torch_aclnn.functional.max_unpool3d(x, i, 2)
    loop = torch.stack([fn(*row) for row in zip(x, indices, strict=True)])
    assert torch.equal(torch.vmap(fn)(x, indices).cpu(), loop.cpu())
    gradient = torch.func.grad(lambda x, i: fn(x, i).square().sum())
    grads = torch.stack([gradient(*row) for row in zip(x, indices, strict=True)])
    assert torch.equal(torch.vmap(gradient)(x, indices).cpu(), grads.cpu())


def test_opcheck(device):
    grad_output, indices = (t.to(device) for t in sample((2, 3), (2, 3, 2), (4, 6, 5)))
    arguments = (grad_output, indices, (4, 6, 5), STRIDE, PADDING)
    torch.library.opcheck(op.default, arguments)
    torch.library.opcheck(op.out, arguments, {"out": torch.empty(indices.shape, device=device)})


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda f, x, i: f(x[0, 0], i, 2), ValueError, "max_unpool3d: input: expected 4 or 5 dimensions"),
        (lambda f, x, i: f(x, i[0], 2), ValueError, "max_unpool3d: indices: expected 5 dimensions"),
        (
            lambda f, x, i: f(x, x, 2),
            TypeError,
            "max_unpool3d: indices: expected dtype torch.int64 or torch.int32, got torch.float32",
        ),
        (lambda f, x, i: f(x, i[:, :, :, :1], 2), ValueError, "max_unpool3d: indices: expected the shape of input"),
        (lambda f, x, i: f(x, i, (2, 2)), ValueError, "max_unpool3d: kernel_size: expected one integer or 3"),
        (lambda f, x, i: f(x, i, 2, 0), ValueError, "max_unpool3d: stride: expected values of at least 1"),
        (lambda f, x, i: f(x, i, 2, 2, -1), ValueError, "max_unpool3d: padding: expected values of at least 0"),
        (
            lambda f, x, i: f(x, i, 2, output_size=(9, 9, 9)),
            ValueError,
            "max_unpool3d: output_size: expected less than a stride",
        ),
        (lambda f, x, i: f(x, i, 2, output_size=4), ValueError, "max_unpool3d: output_size: expected a list of all sizes"),
    ],
)
def test_bad_arguments_are_refused_by_name(device, call, error, words):
    x = torch.zeros(1, 1, 2, 2, 2, device=device)
    with pytest.raises(error, match=words):
        call(torch_aclnn.functional.max_unpool3d, x, x.long())


def test_indices_on_another_device_are_refused():
    x = torch.zeros(1, 1, 2, 2, 2)
    with pytest.raises(RuntimeError, match="max_unpool3d_backward: indices: expected device npu:0"):
        op(x.npu(), torch.zeros(1, 1, 1, 1, 1, dtype=torch.int64), (2, 2, 2), STRIDE, PADDING)


def test_module_has_the_state_and_repr_of_torch():
    ours, theirs = torch_aclnn.nn.MaxUnpool3d(2, 2, 0), torch.nn.MaxUnpool3d(2, 2, 0)
    assert repr(ours) == repr(theirs) and ours.state_dict() == theirs.state_dict()
    x, indices = torch.nn.functional.max_pool3d(torch.rand(1, 2, 4, 4, 4), 2, return_indices=True)
    assert torch.equal(ours(x, indices), theirs(x, indices))
