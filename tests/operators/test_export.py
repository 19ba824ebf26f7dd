"""torch.export and make_fx: programs with dynamic sizes, run on other sizes."""

import copy

import torch_aclnn
import pytest
import torch
from torch import Tensor, nn
from torch.export import Dim
from torch.fx.experimental.optimization import fuse
from torch.fx.experimental.proxy_tensor import make_fx

from support.functions import CASES_OF_IMAGES, NO_UNPOOLING_WITHOUT_DATA, for_each_function_of_images_in_turn, gradient, on_devices_in_turn
from support.marks import skip_if_torchs, skip_with

GUARDS = "exported programs keep guards of the sizes that they were exported with"


class Calls(nn.Module):
    """A module that is one function."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *inputs: Tensor) -> Tensor:
        return self.function(*inputs)


def dynamic_sizes(tensor: Tensor) -> dict:
    """All but the channels."""
    return {} if tensor.dim() == 1 else {d: Dim.DYNAMIC for d in range(tensor.dim()) if d != 1}


@pytest.mark.filterwarnings("ignore:`isinstance")
@on_devices_in_turn("case, strict", CASES_OF_IMAGES, (True, False))
def test_an_exported_program_runs_on_other_sizes(device, case, strict):
    skip_with("2.9", "2.12" if case.name == "avg_pool2d" else "2.9", GUARDS)
    first, *others = (case.inputs(device, size=size) for size in reversed(case.sizes))
    shapes = tuple(dynamic_sizes(t) for t in first)
    program = torch.export.export(Calls(case.ours), first, dynamic_shapes=(shapes,), strict=strict)
    for inputs in (first, *others):
        torch.testing.assert_close(program.module()(*inputs), case.ours(*inputs), rtol=1e-4, atol=1e-5)


@pytest.mark.filterwarnings("ignore:`isinstance")
@pytest.mark.parametrize("strict", [True, False])
def test_an_exported_model_updates_its_statistics(device, strict):
    if strict:
        skip_with("2.7", "2.7", "torch.export does not export batch norm of dynamic sizes in strict mode")
    skip_with("2.9", "2.12", GUARDS)
    ours = torch_aclnn.nn
    model = nn.Sequential(ours.ReplicationPad2d(1), ours.BatchNorm2d(3), ours.AvgPool2d(2), ours.AdaptiveAvgPool2d(2)).to(device)
    first, second = torch.randn(2, 3, 8, 6, device=device), torch.randn(5, 3, 9, 12, device=device)
    dynamic = {0: Dim.DYNAMIC, 2: Dim.DYNAMIC, 3: Dim.DYNAMIC}
    program = torch.export.export(model, (first,), dynamic_shapes=(dynamic,), strict=strict)
    exported = program.run_decompositions().module()
    for x in (first, second):
        torch.testing.assert_close(exported(x), model(x), rtol=1e-4, atol=1e-5)
    for name, buffer in model.named_buffers():
        torch.testing.assert_close(exported.get_buffer(name), buffer, rtol=1e-4, atol=1e-5)


@pytest.mark.filterwarnings("ignore:`isinstance")
@pytest.mark.parametrize("strict", [True, False])
def test_indices_of_a_pooling_in_the_program_reach_the_unpooling(device, strict):
    skip_with("2.9", "2.9", GUARDS)
    skip_with(*NO_UNPOOLING_WITHOUT_DATA)
    model = Calls(lambda x: torch_aclnn.functional.max_unpool3d(*nn.functional.max_pool3d(x, 2, return_indices=True), 2))
    shapes = (({0: Dim.DYNAMIC, 4: Dim.DYNAMIC},),)
    program = torch.export.export(model, (torch.randn(2, 3, 4, 8, 6, device=device),), dynamic_shapes=shapes, strict=strict)
    # On npu they are int32, whatever the graph has been told; aclnnMaxUnpool3d lists int64.
    assert any(node.target is torch.ops.aten._to_copy.default for node in program.graph.nodes) == (device == "npu")
    x = torch.randn(5, 3, 4, 8, 10, device=device)
    assert torch.equal(program.module()(x), model(x))


@on_devices_in_turn("case, mode", CASES_OF_IMAGES, ("real", "fake", "symbolic"))
def test_make_fx_traces_the_gradient_to_the_operator(device, case, mode):
    skip_if_torchs(case.operator, device)
    if device == "npu" and mode == "real":
        skip_with("2.7", "2.9", "make_fx takes the result of detach on npu for a constant")
    inputs = case.inputs(device, size=case.sizes[-1])
    traced = make_fx(lambda *inputs: gradient(case.ours, *inputs), tracing_mode=mode)(*inputs)
    expected = getattr(torch.ops.torch_aclnn, f"{case.operator}_backward").default
    assert [node.target for node in traced.graph.nodes if "torch_aclnn" in str(node.target)] == [expected]
    for size in case.sizes if mode == "symbolic" else case.sizes[-1:]:
        inputs = case.inputs(device, size=size)
        torch.testing.assert_close(traced(*inputs), gradient(case.ours, *inputs), rtol=1e-4, atol=1e-5)


@for_each_function_of_images_in_turn
def test_a_recorded_program_has_torchs_operators(device, case):
    inputs = case.inputs(device)
    recorded = torch.jit.trace(Calls(case.ours), inputs)
    assert {node.kind() for node in recorded.inlined_graph.nodes()} & {"aten::" + name for name in case.recorded_as}
    torch.testing.assert_close(recorded(*inputs), case.theirs(*inputs))


def test_symbolic_trace_records_the_functions_as_they_stand(device):
    modules = torch_aclnn.nn
    model = nn.Sequential(modules.ReplicationPad2d(1), modules.AvgPool2d(2), modules.AdaptiveAvgPool2d(2)).to(device)
    graph = torch.fx.symbolic_trace(model)
    called = [node.target.__name__ for node in graph.graph.nodes if node.op == "call_function"]
    assert called == ["replication_pad2d", "avg_pool2d", "adaptive_avg_pool2d"]
    x = torch.randn(2, 3, 8, 6, device=device)
    assert torch.equal(gradient(graph, x), gradient(model, x))


def make_network() -> nn.Sequential:
    return nn.Sequential(nn.ReplicationPad2d(1), nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.AvgPool2d(2), nn.BatchNorm2d(4, momentum=None))


def test_symbolic_trace_of_a_converted_model_leaves_batch_norm_its_mode_and_statistics(device):
    theirs = make_network()
    ours = torch_aclnn.convert(copy.deepcopy(theirs), batch_norm=True).to(device)
    traced = torch.fx.symbolic_trace(ours)
    assert traced.get_submodule("4").num_batches_tracked == 0  # tracing counts no batch
    for train in (True, True, False):
        x = torch.randn(2, 3, 8, 6)
        outputs = traced.train(train)(x.to(device)), theirs.train(train)(x)
        torch.testing.assert_close(outputs[0].cpu(), outputs[1], rtol=1e-4, atol=1e-5)
    torch.testing.assert_close({k: v.cpu() for k, v in traced.state_dict().items()}, theirs.state_dict(), rtol=1e-4, atol=1e-5)


def test_fuse_takes_a_converted_model_and_fuses_a_reverted_one(device):
    model = torch_aclnn.convert(make_network(), batch_norm=True).eval().to(device)
    x = torch.randn(2, 3, 8, 6, device=device)
    expected, count = model(x), lambda fused: sum(isinstance(m, nn.BatchNorm2d) for m in fused.modules())
    as_converted, as_reverted = fuse(model), fuse(torch_aclnn.revert(copy.deepcopy(model)))
    assert (count(as_converted), count(as_reverted)) == (2, 1)
    for fused in (as_converted, as_reverted):
        torch.testing.assert_close(fused(x), expected, rtol=1e-4, atol=1e-5)
