"""torch.compile: whole graphs on both devices, one graph for all sizes, and the results of eager code."""

import torch_aclnn
import pytest
import torch
from torch import Tensor, func, nn
from torch._dynamo.testing import CompileCounterWithBackend
from torch_aclnn._operators import OPERATORS

from support import layouts
from support.functions import (
    CASES,
    CASES_OF_IMAGES,
    for_each_function_of_images_in_turn,
    for_each_traced_function_in_turn,
    on_devices_in_turn,
    skip_without_forward,
    without_data,
)
from support.marks import host_engine_only, skip_if_torchs, skip_with


@pytest.fixture(autouse=True)
def _forget_compiled_code():
    yield
    torch._dynamo.reset()


def compiled(function, backend="aot_eager", **options):
    return torch.compile(function, backend=backend, fullgraph=True, **options)


def results(function, x: Tensor, *others: Tensor) -> tuple[Tensor, Tensor]:
    """Return output and gradient."""
    x = x.detach().requires_grad_()
    y = function(x, *others)
    return y, torch.autograd.grad(y, x, y.detach())[0]


def assert_equals_eager(compiled_function, function, *inputs: Tensor) -> None:
    """Compare output and gradient, their dtypes and strides."""
    # On npu the meta kernels of torch's own forwards do not give the strides that torch_npu's kernels give.
    check_stride = inputs[0].device.type == "cpu"
    for actual, expected in zip(results(compiled_function, *inputs), results(function, *inputs), strict=True):
        torch.testing.assert_close(actual, expected, rtol=1e-4, atol=1e-5, check_stride=check_stride)


@for_each_traced_function_in_turn
def test_one_whole_graph_without_breaks(device, case):
    function, inputs = compiled(case.ours), case.inputs(device)
    assert_equals_eager(function, case.ours, *inputs)
    with torch.no_grad():  # a graph of its own, without a backward
        torch.testing.assert_close(function(*inputs), case.ours(*inputs))


@on_devices_in_turn("case, layout", CASES_OF_IMAGES, (layouts.offset_and_gaps, layouts.channels_last))
def test_layouts_of_memory(device, case, layout):
    if layout is layouts.channels_last:
        skip_with("2.7", "2.12" if case.name.endswith("pad2d") else "2.11", "compiled code loses channels_last")
    x, *others = case.inputs("cpu")
    assert_equals_eager(compiled(case.ours), case.ours, layout(x.to(device)), *(t.to(device) for t in others))


DYNAMIC_POOLING = "torch.compile traces average pooling for even and odd sizes apart"


@for_each_function_of_images_in_turn
def test_one_dynamic_graph_serves_all_sizes(device, case):
    if case.name == "avg_pool2d":
        skip_with("2.7", "2.12", DYNAMIC_POOLING)
    counter = CompileCounterWithBackend("aot_eager")
    function = compiled(case.ours, counter, dynamic=True)
    for size in reversed(case.sizes):  # the last size repeats no other, as torch would take equal sizes for one symbol
        assert_equals_eager(function, case.ours, *case.inputs(device, size=size))
    assert counter.frame_count == 1


@for_each_function_of_images_in_turn
def test_marked_dimensions_are_not_specialised(device, case):
    if case.name == "avg_pool2d":
        skip_with("2.7", "2.12", DYNAMIC_POOLING)
    function = compiled(case.ours, dynamic=False)
    with torch._dynamo.config.patch(error_on_recompile=True):
        for size in case.sizes:
            inputs = case.inputs(device, size=size)
            for tensor in inputs:
                for dim in range(tensor.dim()):
                    if dim != 1 and tensor.dim() > 1:
                        torch._dynamo.mark_dynamic(tensor, dim)
            torch.testing.assert_close(function(*inputs), case.ours(*inputs), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("case", "call"), [pytest.param(case, call, id=case.name) for case in CASES_OF_IMAGES for call in case.symbolic])
def test_attributes_may_be_symbolic(device, case, call):
    function = lambda x: call(torch_aclnn.functional, x)
    counter = CompileCounterWithBackend("aot_eager")
    dynamic = compiled(function, counter, dynamic=True)
    for size in reversed(case.sizes):  # the last size repeats no other, as torch would take equal sizes for one symbol
        assert_equals_eager(dynamic, function, torch.randn(size, device=device))
    assert counter.frame_count == 1


@pytest.mark.parametrize("case", CASES_OF_IMAGES, ids=lambda case: case.name)  # on both devices, whose autocast differs
def test_under_autocast_the_dtype_is_kept(device, case):
    skip_without_forward(case, device, torch.bfloat16)
    with torch.amp.autocast(device, dtype=torch.float16):
        assert_equals_eager(compiled(case.ours), case.ours, *case.inputs(device, torch.bfloat16))


@for_each_function_of_images_in_turn
def test_transforms_inside_compiled_code(device, case):
    def transforms(x: Tensor, *others: Tensor) -> tuple[Tensor, ...]:
        function = lambda x: case.ours(x, *others)
        mapped = func.vmap(function)(torch.stack([x, x.sin()]))
        forward_mode = func.jvp(function, (x,), (x.cos(),)) if case.compiles_forward_mode else ()
        return func.grad(lambda x: function(x).sin().sum())(x), mapped, *forward_mode

    inputs = case.inputs(device)
    eager = transforms(*inputs)  # computed first, because a process's first vmap takes a lock, which torch.compile cannot trace
    for actual, expected in zip(compiled(transforms)(*inputs), eager, strict=True):
        torch.testing.assert_close(actual, expected, rtol=1e-4, atol=1e-5)


class Volumes(nn.Module):
    """Pool volumes and put them back; the indices do not leave the graph."""

    def __init__(self):
        super().__init__()
        self.pool, self.unpool = nn.MaxPool3d(2, return_indices=True), torch_aclnn.nn.MaxUnpool3d(2)

    def forward(self, x: Tensor) -> Tensor:
        return self.unpool(*self.pool(x))


def make_model(device: str) -> nn.Module:
    ours = torch_aclnn.nn
    first = ours.ReplicationPad2d((1, 1, 1, 1)), nn.Conv2d(2, 4, 3), ours.BatchNorm2d(4), nn.ReLU(), ours.AvgPool2d(2)
    last = nn.Unflatten(1, (1, 4)), Volumes(), nn.Flatten(1, 2), ours.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(16, 3)
    return nn.Sequential(*first, *last).to(device)


def train(model: nn.Module, call, device: str, sizes) -> list[Tensor]:
    """Return what three steps leave in the model, and the losses."""
    generator = torch.Generator().manual_seed(1)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    losses = []
    for size in sizes:
        optimizer.zero_grad()
        loss = call(torch.randn(size, generator=generator).to(device)).square().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    return [*losses, *(t.clone() for t in model.state_dict().values())]


SIZES = ((4, 2, 8, 8), (3, 2, 12, 8), (6, 2, 8, 12))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("device", "backend", "sizes"),
    [("npu", "aot_eager", SIZES), ("cpu", "inductor", SIZES[:1] * 3)],  # inductor compiles adaptive pooling for each size anew
)
def test_training_modules_equals_eager(device, backend, sizes):
    eager, model = make_model(device), make_model(device)
    model.load_state_dict(eager.state_dict())
    expected = train(eager, eager, device, sizes)
    function = compiled(model, backend, dynamic=len(set(sizes)) > 1)
    for ours, theirs in zip(train(model, function, device, sizes), expected, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-3, atol=1e-4)


@host_engine_only
@pytest.mark.parametrize(
    "operator", [pytest.param(operator, id=operator.name, marks=without_data.get(operator.function, ())) for operator in OPERATORS]
)
def test_compiled_code_calls_the_same_entry_points(operator):
    skip_if_torchs(operator.name, "npu")
    (case,) = (case for case in CASES if case.name == operator.function)
    inputs, counts = case.inputs("npu"), []
    for function in (case.ours, compiled(case.ours)):
        results(function, *inputs)
        torch.npu.synchronize()
        torch_aclnn.host.reset()
        results(function, *inputs)
        torch.npu.synchronize()
        counts.append(torch_aclnn.host.statistics().calls[operator.entry_point])
    assert counts == [1, 1]


def test_a_bad_argument_is_refused_in_compiled_code(device):
    skip_with("2.7", "2.8", "torch.compile raises an error of its own for one of the code that it traces")
    with pytest.raises(Exception, match="avg_pool2d: padding: expected at most half of kernel_size"):
        compiled(lambda x: torch_aclnn.functional.avg_pool2d(x, 2, padding=2))(torch.ones(1, 1, 4, 4, device=device))
