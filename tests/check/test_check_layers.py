"""torch-aclnn check: whole layers, and what a training meets beside single calls; each check fails for the fault it is for."""

import gc

import torch_aclnn
import pytest
import torch
from torch_aclnn._operators import OPERATORS
from torch_aclnn.check import features, layers, memory, ranks, records, worker

from support.functions import CASES_OF_IMAGES
from support.marks import STRICT, host_engine_only, of_a2_and_a3, skipped_if_torchs

pytestmark = host_engine_only
# Strict mode keeps to pages that do not list bfloat16 for some of the operators.
DTYPES = layers.DTYPES[:2] if STRICT else layers.DTYPES
LAYERS = {layer.module: layer for layer in layers.LAYERS}


class WrongStatistic(torch.autograd.Function):
    """Batch norm that gives its backward the variance where 1/sqrt(variance + eps) is wanted; the forward is right."""

    @staticmethod
    def forward(ctx, x, weight, bias, running_mean, running_var, momentum, eps):
        ctx.save_for_backward(x, weight)
        return torch.nn.functional.batch_norm(x, running_mean, running_var, weight, bias, True, momentum, eps)

    @staticmethod
    def backward(ctx, grad):
        x, weight = ctx.saved_tensors
        samples = [d for d in range(x.dim()) if d != 1]
        variance, mean = torch.var_mean(x, samples, correction=0)
        centred = x - mean.view(-1, *[1] * (x.dim() - 2))
        sum_dy, sum_dy_xmu = grad.sum(samples), (grad * centred).sum(samples)
        count = torch.tensor([x.numel() // x.size(1)], dtype=torch.int32, device=x.device)
        grad_input = torch.ops.torch_aclnn.batch_norm_elemt_backward(grad, x, mean, variance, weight, sum_dy, sum_dy_xmu, count)
        return grad_input, sum_dy_xmu * variance, sum_dy, *[None] * 4


def wrong_batch_norm(x, running_mean, running_var, weight, bias, training, momentum, eps):
    return WrongStatistic.apply(x, weight, bias, running_mean, running_var, momentum, eps)


def test_every_module_and_operator_has_a_layer():
    assert set(LAYERS) == {module for operator in OPERATORS for module in operator.modules}
    assert {layer.operator for layer in layers.NETWORKS} == {operator.name for operator in OPERATORS}
    assert len({layer.network for layer in layers.NETWORKS}) == len(layers.NETWORKS)


@pytest.mark.parametrize("module", LAYERS)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_a_layer_passes_beside_torch_npus_own(module, dtype):
    found = layers.check_layer(LAYERS[module], dtype, 1)
    assert found.status == records.PASSED, found.message
    assert found.case == module and found.torchs_ulp <= found.limit_ulp and found.difference_ulp <= 2


@pytest.mark.parametrize("module", ["BatchNorm1d", "BatchNorm2d", "BatchNorm3d"])
@skipped_if_torchs("batch_norm_elemt")
def test_a_statistic_that_is_not_what_the_backward_takes_it_for_fails(monkeypatch, module):
    monkeypatch.setattr(torch_aclnn.functional, "batch_norm", wrong_batch_norm)
    for dtype in DTYPES:
        found = layers.check_layer(LAYERS[module], dtype, 1)
        assert found.status == records.FAILED and found.message.startswith("the gradient of the ")
        assert found.error_ulp > 10 * found.limit_ulp


def test_running_statistics_are_compared_too(monkeypatch):
    def without_update(x, running_mean, running_var, *arguments):
        return torch.nn.functional.batch_norm(x, running_mean.clone(), running_var, *arguments)

    monkeypatch.setattr(torch_aclnn.functional, "batch_norm", without_update)
    found = layers.check_layer(LAYERS["BatchNorm2d"], torch.float32, 1)
    assert found.message.startswith("the running mean has an error of ")


def test_a_layer_that_no_page_lists_is_not_tried_where_a_refusal_would_end_the_process():
    found = layers.check_layer(LAYERS["ReplicationPad2d"], torch.bfloat16, 2)
    assert (found.status, found.listed) == (records.NOT_OFFERED, False) and found.message.startswith("not tried in mode 2")
    assert layers.check_layer(LAYERS["ReplicationPad2d"], torch.float32, 2).torchs_ulp is None


def test_what_torch_npus_own_layer_refuses_is_told(monkeypatch):
    def on_cpu_only(pool, x):
        if x.device.type == "npu":
            raise RuntimeError("no such kernel\nand more")
        return torch.nn.functional.avg_pool2d(x, pool.kernel_size, pool.stride, pool.padding)

    monkeypatch.setattr(torch.nn.AvgPool2d, "forward", on_cpu_only)
    found = layers.check_layer(LAYERS["AvgPool2d"], torch.float32, 1)
    assert (found.status, found.detail, found.torchs_ulp) == (records.PASSED, "torch_npu's own: no such kernel", None)


@pytest.mark.parametrize("feature", [f for f in worker.FEATURES if f.check != "collective"], ids=lambda feature: feature.check)
def test_a_feature_passes_or_is_not_offered(feature):
    found = feature.run(1)
    assert found.check == feature.check and found.case
    assert found.status == records.PASSED or (found.status == records.NOT_OFFERED and found.message), found.message


@of_a2_and_a3
def test_an_unpooling_that_moves_elements_elsewhere_fails(monkeypatch):
    unpool = torch_aclnn.functional.max_unpool3d
    monkeypatch.setattr(torch_aclnn.functional, "max_unpool3d", lambda pooled, indices, kernel: unpool(pooled, indices.flip(-1), kernel))
    found = features.unpooling(1)
    assert (found.status, found.detail) == (records.FAILED, "indices int32")


def test_a_second_stream_that_gives_other_bits_fails(monkeypatch):
    default, gradient = torch.npu.current_stream(), features._gradient

    def other(x):
        return gradient(x) + (torch.npu.current_stream() != default)

    monkeypatch.setattr(features, "_gradient", other)
    assert features.stream(1).message == "16384 elements differ from those of the first device's default stream"


def replace_replay(monkeypatch, fails):
    """Let captures fail if `fails(operator)`, and replace other captures by plain calls, as queue mode 2 has no captures."""

    def replay(call, *change):
        if fails(call.func):
            raise RuntimeError("Failed to find function aclmdlRICaptureBegin")
        return call().cpu()

    monkeypatch.setattr(features, "_replayed", replay)


def test_a_capture_is_not_offered_where_torch_npus_own_operator_cannot_be_captured(monkeypatch):
    replace_replay(monkeypatch, lambda operator: True)
    found = features.graph(1)
    assert found.status == records.NOT_OFFERED
    assert found.message == "with torch_npu's own operator: Failed to find function aclmdlRICaptureBegin"


def test_a_capture_of_our_operator_alone_that_fails_is_a_failure(monkeypatch):
    replace_replay(monkeypatch, lambda operator: operator.namespace == "torch_aclnn")
    (graph,) = (feature for feature in worker.FEATURES if feature.check == "graph")
    assert worker.do(worker.Job("graph", graph.operator, lambda: graph.run(1)), 1).status == records.FAILED


def test_without_the_functions_of_captures_none_is_begun(monkeypatch):
    monkeypatch.setattr(features, "_OF_CAPTURES", ("aclmdlRICaptureEnd", "aclmdlRINoSuchFunction"))
    replace_replay(monkeypatch, lambda operator: pytest.fail("a capture began"))
    assert features.graph(1).message == "CANN does not have aclmdlRINoSuchFunction"


def test_a_capture_that_does_not_begin_leaves_the_stream_as_it_was(monkeypatch):
    def begin(captured, **options):
        raise RuntimeError("no capture")

    before = torch.npu.current_stream()
    monkeypatch.setattr(torch.npu.NPUGraph, "capture_begin", begin)
    assert features.graph(1).status == records.NOT_OFFERED
    assert torch.npu.current_stream() == before


@pytest.mark.parametrize("operator", [case.operator for case in CASES_OF_IMAGES])
def test_queued_calls_keep_no_more_than_torch_npus_own(operator):
    found = memory.check_queued(operator, 1)
    assert found.status == records.PASSED, found.message


def test_calls_that_keep_a_block_each_fail(monkeypatch):
    alive = []

    def keep():
        alive.append(torch.empty(8).npu())
        if len(alive) == 10:
            gc.collect()

    def calls(name):
        garbage = [torch.empty(8).npu() for _ in range(50)]
        garbage.append(garbage)  # collected during the calls if not before
        return keep, lambda: torch.empty(8).npu()

    monkeypatch.setattr(memory, "operator_calls", calls)
    found = memory.check_queued("avg_pool2d", 1)
    assert found.status == records.FAILED and found.message.startswith("2000 calls keep up to 200")
    assert found.blocks[0] >= 2000 and found.bytes[0] >= 2000 * 512


def test_one_device_has_no_ranks():
    found = ranks.collective(1)
    assert torch.npu.device_count() > 1 or (found.status, found.message) == (records.NOT_OFFERED, "one device")
