"""Max unpooling: the gradient moves elements exactly, through its entry points and by the same kernels on cpu."""

import math

import torch_aclnn
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from support import layouts
from support.families.unpooling import UNPOOLINGS
from support.functions import on_devices_in_turn
from support.marks import host_engine_only, of_a2_and_a3

DTYPES = (torch.float32, torch.float16, torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64, torch.float64)

for_each = pytest.mark.parametrize("unpooling", UNPOOLINGS, ids=lambda unpooling: unpooling.name)


def sample(lead, pooled, plane, dtype=torch.float32) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.randint(-100, 100, (*lead, *plane)).to(dtype), torch.randint(0, math.prod(plane), (*lead, *pooled))


def last(unpooling, *sizes):
    return sizes[-unpooling.dims :]


def channels_last_3d(x: torch.Tensor) -> torch.Tensor:
    return x.contiguous(memory_format=torch.channels_last_3d if x.dim() == 5 else torch.channels_last)


@pytest.mark.parametrize("lead", [(2, 3), (3,)], ids=["batch", "no batch"])
@for_each
def test_gradient_takes_each_element_from_its_place(device, unpooling, lead):
    plane, pooled = last(unpooling, 4, 6, 5), last(unpooling, 2, 3, 2)
    for dtype in DTYPES:
        grad_output, indices = sample(lead, pooled, plane, dtype)
        expected = unpooling.tensor_gradient(grad_output, indices)
        for layout in layouts.LAYOUTS:
            grad_input = unpooling.op(layout(grad_output).to(device), layout(indices).to(device), plane)
            assert grad_input.dtype == dtype and grad_input.device.type == device
            assert torch.equal(grad_input.cpu(), expected), (dtype, layout.__name__)


@for_each
@settings(max_examples=40)
@given(sizes=st.lists(st.integers(1, 5), min_size=8, max_size=8))
def test_any_shape_takes_each_element_from_its_place(unpooling, sizes):
    pooled, plane = last(unpooling, *sizes[2:5]), last(unpooling, *sizes[5:])
    grad_output, indices = sample(sizes[:2], pooled, plane)
    for device in ("cpu", "npu"):
        grad_input = unpooling.op(grad_output.to(device), indices.to(device), plane)
        assert torch.equal(grad_input.cpu(), unpooling.tensor_gradient(grad_output, indices))


@for_each
def test_an_empty_batch_gives_an_empty_gradient(device, unpooling):
    ones, twos = (1,) * unpooling.dims, (2,) * unpooling.dims
    indices = torch.empty(0, 3, *ones, dtype=torch.int64, device=device)
    assert unpooling.op(torch.empty(0, 3, *twos, device=device), indices, twos).shape == (0, 3, *ones)


@for_each
def test_out_that_is_not_contiguous_receives_the_result(device, unpooling):
    plane = last(unpooling, 4, 6, 5)
    grad_output, indices = (t.to(device) for t in sample((2, 3), last(unpooling, 2, 3, 2), plane))
    out = layouts.offset_and_gaps(torch.zeros(indices.shape, device=device))
    unpooling.op(grad_output, indices, plane, out=out)
    assert torch.equal(out.cpu(), unpooling.op(grad_output, indices, plane).cpu())


@for_each
def test_an_index_outside_the_plane_is_an_error_at_the_call_on_cpu(unpooling):
    grad_output, indices = torch.ones(1, 1, *last(unpooling, 1, 1, 4)), torch.tensor([0, 4]).view(1, 1, *last(unpooling, 1, 1, 2))
    where = rf"got 4 at position \[{', '.join('0' * (unpooling.dims + 1))}, 1\]"
    with pytest.raises(RuntimeError, match=rf"{unpooling.name}_backward: indices: expected values below.*{where}"):
        unpooling.op(grad_output, indices, grad_output.shape[2:])


@pytest.mark.parametrize("layout", [layouts.contiguous, channels_last_3d])
@pytest.mark.parametrize("channels", [512, 3])
@for_each
def test_the_first_index_outside_is_named_however_threads_share_the_work(unpooling, channels, layout):
    plane = last(unpooling, 8, 8, 8)
    indices = torch.zeros(1, channels, *last(unpooling, 4, 4, 4), dtype=torch.int64)
    middle = last(unpooling, 1, 2, 3)
    indices[(0, channels // 2, *middle)], indices[0, channels - 1].view(-1)[0] = math.prod(plane), -7
    position = ", ".join(map(str, (0, channels // 2, *middle)))
    with pytest.raises(RuntimeError, match=rf"got {math.prod(plane)} at position \[{position}\]"):
        unpooling.op(torch.ones(1, channels, *plane), layout(indices), plane)


# Rows of up to 32 adjacent channels are joined to blocks of 64 elements where these are 2048 or more.
CHANNELS = (2, 3, 7, 16, 31, 32, 33)


@pytest.mark.parametrize("dtype", [torch.int8, torch.float16, torch.float32, torch.float64])
@pytest.mark.parametrize("channels", CHANNELS)
@for_each
def test_adjacent_channels_take_each_element_from_its_place(unpooling, channels, dtype):
    plane = last(unpooling, 4, 6, 5)
    grad_output, indices = sample((3, channels), last(unpooling, 7, 6, 17), plane, dtype)
    for layout in (layouts.contiguous, channels_last_3d):
        out = layout(torch.empty(indices.shape, dtype=dtype))
        unpooling.op(layouts.channels_last(grad_output), layouts.channels_last(indices), plane, out=out)
        assert torch.equal(out, unpooling.tensor_gradient(grad_output, indices)), layout.__name__


@for_each
def test_the_first_index_outside_is_named_among_adjacent_channels(unpooling):
    """The first is so in the order of the elements, where a later channel may lie before it in memory."""
    plane = last(unpooling, 4, 6, 5)
    for channels in (2, 7, 32):
        for later in (None, (0, 0, 0), (6, 5, 16)):
            grad_output, indices = sample((3, channels), last(unpooling, 7, 6, 18), plane)
            indices[(2, channels - 2, *last(unpooling, 6, 5, 17))] = math.prod(plane)
            if later:
                indices[(2, channels - 1, *last(unpooling, *later))] = -1
            position = ", ".join(map(str, (2, channels - 2, *last(unpooling, 6, 5, 17))))
            with pytest.raises(RuntimeError, match=rf"got {math.prod(plane)} at position \[{position}\]"):
                unpooling.op(layouts.channels_last(grad_output), layouts.channels_last(indices), plane)


def pool(unpooling, x: torch.Tensor, device: str, **options) -> tuple[torch.Tensor, torch.Tensor]:
    """Pool on cpu: of images torch_npu's own gives a mask in place of indices."""
    pooled = getattr(torch.nn.functional, f"max_pool{unpooling.dims}d")(x, 2, return_indices=True, **options)
    return tuple(t.to(device) for t in pooled)


def function(unpooling):
    return getattr(torch_aclnn.functional, unpooling.name)


@of_a2_and_a3
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
    torch_aclnn.host.reset()
    torch_aclnn.functional.max_unpool3d(pooled.requires_grad_(), indices, 2).sum().backward()
    torch.npu.synchronize()
    calls = torch_aclnn.host.statistics().calls
    assert [calls[f"aclnn{name}"] for name in ("InplaceCopy", "MaxUnpool3d", "MaxUnpool3dBackward")] == [2, 1, 1]


@host_engine_only
@for_each
def test_an_index_outside_the_plane_is_an_error_at_the_next_synchronisation_on_npu(unpooling):
    row = last(unpooling, 1, 1, 4)
    grad_input = unpooling.op(torch.ones(1, 1, *row).npu(), torch.tensor([0, -1, 4, 3]).view(1, 1, *row).npu(), row)
    with pytest.raises(RuntimeError, match="507015"):
        torch.npu.synchronize()
    assert grad_input.flatten().tolist() == [1, 0, 0, 1]  # the stream works again


@pytest.mark.parametrize("lead", [(1, 2), (2,)], ids=["batch", "no batch"])
@for_each
def test_gradcheck(device, unpooling, lead):
    # CANN's page for volumes lists DOUBLE, and of images it goes through as INT64, so float64 is checked on both devices.
    plane = last(unpooling, 3, 4, 3)
    pooled, indices = pool(unpooling, torch.rand(*lead, *plane).double(), device, ceil_mode=True)
    fn = lambda x: function(unpooling)(x, indices, 2, output_size=plane)
    assert torch.autograd.gradcheck(fn, pooled.requires_grad_()) and torch.autograd.gradgradcheck(fn, pooled)


def test_second_derivative_adds_where_two_elements_came_from_one_place(device):
    grad_output = torch.arange(4.0, device=device).view(1, 1, 1, 1, 4).requires_grad_()
    indices = torch.tensor([2, 2]).view(1, 1, 1, 1, 2).to(device)
    torch.ops.torch_aclnn.max_unpool3d_backward(grad_output, indices, (1, 1, 4), (2, 2, 2), (0, 0, 0)).sum().backward()
    assert grad_output.grad.flatten().tolist() == [0, 0, 2, 0]


@for_each
def test_bfloat16_goes_through_as_its_bits(device, unpooling):
    pooled, indices = pool(unpooling, torch.rand(1, 2, *last(unpooling, 2, 4, 4)), device)
    x = pooled.bfloat16().requires_grad_()
    function(unpooling)(x, indices, 2).square().sum().backward()
    assert torch.equal(x.grad.cpu(), (2 * x).detach().cpu())


BAD = {
    "input": (lambda f, x, i: f(x[0, 0], i, 2), ValueError, "input: expected {1} or {2} dimensions"),
    "rank of indices": (lambda f, x, i: f(x, i[0], 2), ValueError, "indices: expected {2} dimensions"),
    "type of indices": (lambda f, x, i: f(x, x, 2), TypeError, "indices: expected dtype torch.int64 or torch.int32, got torch.float32"),
    "shape of indices": (lambda f, x, i: f(x, i[..., :1], 2), ValueError, "indices: expected the shape of input"),
    "kernel_size": (lambda f, x, i: f(x, i, (2, 2, 2, 2)), ValueError, "kernel_size: expected one integer or {0}"),
    "stride": (lambda f, x, i: f(x, i, 2, 0), ValueError, "stride: expected values of at least 1"),
    "padding": (lambda f, x, i: f(x, i, 2, 2, -1), ValueError, "padding: expected values of at least 0"),
    "output_size": (lambda f, x, i: f(x, i, 2, output_size=(9,) * (x.dim() - 2)), ValueError, "output_size: expected less than a stride"),
    "one output_size": (lambda f, x, i: f(x, i, 2, output_size=4), ValueError, "output_size: expected a list of all sizes"),
}


@on_devices_in_turn("unpooling, bad", UNPOOLINGS, BAD)
def test_bad_arguments_are_refused_by_name(device, unpooling, bad):
    call, error, words = BAD[bad]
    x, dims = torch.zeros(1, 1, *[2] * unpooling.dims, device=device), unpooling.dims
    with pytest.raises(error, match=f"{unpooling.name}: {words.format(dims, dims + 1, dims + 2)}"):
        call(function(unpooling), x, x.long())


@for_each
def test_indices_on_another_device_are_refused(unpooling):
    indices = torch.zeros(1, 1, *[1] * unpooling.dims, dtype=torch.int64)
    with pytest.raises(RuntimeError, match=f"{unpooling.name}_backward: indices: expected device npu:0"):
        unpooling.op(torch.zeros(1, 1, *[2] * unpooling.dims).npu(), indices, (2,) * unpooling.dims)


@for_each
def test_module_has_the_state_repr_and_results_of_torch(unpooling):
    ours, theirs = (getattr(library, f"MaxUnpool{unpooling.dims}d")(2, 2, 0) for library in (torch_aclnn.nn, torch.nn))
    assert repr(ours) == repr(theirs) and ours.state_dict() == theirs.state_dict()
    x, indices = pool(unpooling, torch.rand(1, 2, *[4] * unpooling.dims), "cpu")
    assert torch.equal(ours(x, indices), theirs(x, indices))
