"""torch.npu's graphs: what they replay is what eager execution computes."""

import copy

import pytest
import torch
import torch.nn.functional as F
import torch_aclnn.nn
import torch_npu
from torch import nn

from support.marks import skip_with

NPU = "npu"


def captured(function, *arguments):
    """Return the graph of a call, and what the call returned: memory that each replay writes."""
    function(*arguments)  # the first call may still set up something
    torch.npu.synchronize()
    graph = torch.npu.NPUGraph()
    with torch.npu.graph(graph):
        result = function(*arguments)
    return graph, result


def test_replay_computes_with_what_the_inputs_hold_then():
    x = torch.randn(4, 5).to(NPU)
    weight = torch.randn(5, 5).to(NPU)
    graph, result = captured(lambda: torch.relu(x @ weight).sum(1))
    for _ in range(3):
        x.normal_()
        graph.replay()
        torch.testing.assert_close(result, torch.relu(x @ weight).sum(1), rtol=0, atol=0)


def test_capture_status_and_pool():
    graph = torch.npu.NPUGraph()
    assert not torch.npu.is_current_stream_capturing()
    with torch.npu.graph(graph):
        assert torch.npu.is_current_stream_capturing()
        kept = torch.zeros(3, device=NPU)
    assert not torch.npu.is_current_stream_capturing()
    other = torch.npu.NPUGraph()
    with torch.npu.graph(other, pool=graph.pool()):
        kept.add_(1)
    graph.replay()
    other.replay()
    assert kept.tolist() == [1.0] * 3
    graph.reset()
    other.reset()


def test_side_stream_takes_part():
    x = torch.ones(8, device=NPU)
    side = torch.npu.Stream()

    def fork_and_join():
        main = torch.npu.current_stream()
        side.wait_stream(main)
        with torch.npu.stream(side):
            doubled = x * 2
        main.wait_stream(side)
        return doubled + 1

    graph, result = captured(fork_and_join)
    x.fill_(5)
    graph.replay()
    assert result.tolist() == [11.0] * 8


def test_synchronisation_is_refused_and_the_capture_goes_on():
    x = torch.ones(2, device=NPU)
    graph = torch.npu.NPUGraph()
    with torch.npu.graph(graph):
        y = x + 1
        with pytest.raises(RuntimeError, match="107027"):
            torch.npu.current_stream().synchronize()
    graph.replay()
    assert y.tolist() == [2.0] * 2


def test_capture_that_failed_leaves_the_device_usable():
    skip_with("2.7", "2.8", "after a capture that failed no other is possible")
    x = torch.ones(2, device=NPU)
    side, graph = torch.npu.Stream(), torch.npu.NPUGraph()
    with torch.npu.stream(side):
        graph.capture_begin()
        torch.npu.Stream().wait_stream(side)
        with pytest.raises(RuntimeError, match="107025"):
            graph.capture_end()
    graph, y = captured(lambda: x + 1)
    graph.replay()
    assert y.tolist() == [2.0] * 2


DRAWS = {
    "normal": lambda: torch.empty(64, device=NPU).normal_(1, 2),
    "uniform": lambda: torch.rand(64, device=NPU),
    "integers": lambda: torch.randint(0, 1000, (64,), device=NPU),
    "multinomial": lambda: torch.multinomial(torch.ones(100, device=NPU), 20),
    "dropout": lambda: F.dropout(torch.ones(256, device=NPU), 0.5),
}


@pytest.mark.parametrize("name", DRAWS)
def test_each_replay_draws_the_numbers_that_eager_execution_draws(name):
    graph, result = captured(DRAWS[name])
    torch.npu.manual_seed(7)
    eager = [DRAWS[name]().clone() for _ in range(3)]
    torch.npu.manual_seed(7)
    for expected in eager:
        graph.replay()
        assert torch.equal(result, expected)
    assert not torch.equal(eager[0], eager[1])


def model() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(3, 4, 3), nn.ReLU(), torch_aclnn.nn.AvgPool2d(2), torch_aclnn.nn.ReplicationPad2d(1),
        torch_aclnn.nn.AdaptiveAvgPool2d(3), nn.Flatten(), nn.Linear(36, 5),
    )  # fmt: skip


def train(net, forward, steps: int = 4) -> list[torch.Tensor]:
    """Train on the same data as every other call, and return the losses and the parameters."""
    generator = torch.Generator().manual_seed(3)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    seen = []
    for _ in range(steps):
        data, target = torch.randn(2, 3, 12, 12, generator=generator).to(NPU), torch.randn(2, 5, generator=generator).to(NPU)
        optimizer.zero_grad(set_to_none=True)
        loss = F.mse_loss(forward(data), target)
        loss.backward()
        optimizer.step()
        seen.append(loss.detach().cpu())
    return [*seen, *(parameter.detach().cpu() for parameter in net.parameters())]


def assert_as_eager(found, expected):
    """Replays compute on another thread, and oneDNN sums a convolution's gradient in an order that follows the number of threads."""
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-6)


def test_graphed_callable_trains_as_eager_execution_does():
    eager = model().to(NPU)
    graphed = copy.deepcopy(eager)
    expected = train(eager, eager)
    sample = torch.randn(2, 3, 12, 12).to(NPU)
    found = train(graphed, torch.npu.make_graphed_callables(graphed, (sample,)))
    for one, other in zip(found, expected, strict=True):
        assert_as_eager(one, other)


def test_whole_training_step_in_one_graph():
    net = model().to(NPU)
    twin = copy.deepcopy(net)
    data, target = torch.randn(2, 3, 12, 12).to(NPU), torch.randn(2, 5).to(NPU)

    def step(which):
        loss = F.mse_loss(which(data), target)
        gradients = torch.autograd.grad(loss, list(which.parameters()))
        with torch.no_grad():
            for parameter, gradient in zip(which.parameters(), gradients, strict=True):
                parameter.sub_(gradient, alpha=0.1)
        return loss.detach()

    step(twin)
    graph, loss = captured(step, net)  # the first call was a step, as above
    for _ in range(3):
        data.normal_()
        expected = step(twin)
        graph.replay()
        assert_as_eager(loss, expected)
    for one, other in zip(net.parameters(), twin.parameters(), strict=True):
        assert_as_eager(one, other)


def test_group_of_tasks_is_updated():
    x, y = torch.ones(4, device=NPU), torch.full((4,), 5.0, device=NPU)
    out = torch.zeros(4, device=NPU)
    torch.add(x, y, out=out)
    graph = torch.npu.NPUGraph()
    with torch.npu.graph(graph):
        stream = torch.npu.current_stream()
        torch.npu.graph_task_group_begin(stream)
        torch.add(x, y, alpha=2, out=out)
        handle = torch.npu.graph_task_group_end(stream)
    graph.replay()
    assert out.tolist() == [11.0] * 4
    update = torch.npu.Stream()
    with torch.npu.stream(update):
        torch.npu.graph_task_update_begin(update, handle)
        torch.add(x, y, alpha=3, out=out)
        torch.npu.graph_task_update_end(update)
    update.synchronize()
    graph.replay()
    assert out.tolist() == [16.0] * 4


@pytest.mark.parametrize("version", ["", "_v2"])
def test_attention_takes_other_lengths_in_each_replay(version):
    """vllm-ascend decodes so: a workspace for the longest lengths, an lse that nobody asks for, and an update before each replay."""
    names = ("num_heads", "num_key_value_heads", "scale", "actual_seq_lengths", "actual_seq_lengths_kv")
    if version:
        names = ("num_query_heads", "num_key_value_heads", "softmax_scale", "actual_seq_qlen", "actual_seq_kvlen")
    query, *keys_and_values = (torch.randn(6, 2, 64, dtype=torch.float16).to(NPU) for _ in range(3))
    attend = getattr(torch_npu, f"npu_fused_infer_attention_score{version}")
    inputs = lambda lengths: {"input_layout": "TND", **dict(zip(names, (2, 2, 0.25, lengths, lengths), strict=True))}
    find_workspace = getattr(torch_npu, f"_npu_fused_infer_attention_score{version}_get_max_workspace")
    workspace = find_workspace(query, *keys_and_values, **inputs([2, 6]))
    out = [torch.empty_like(query), torch.empty(1, dtype=query.dtype, device=NPU)]
    launch = lambda lengths: attend.out(query, *keys_and_values, **inputs(lengths), workspace=workspace, out=out)
    graph, update = torch.npu.NPUGraph(), torch.npu.Stream()
    with torch.npu.graph(graph):
        stream = torch.npu.current_stream()
        torch.npu.graph_task_group_begin(stream)
        launch([2, 6])
        handle = torch.npu.graph_task_group_end(stream)
    for lengths in ([4, 6], [1, 6]):
        with torch.npu.stream(update):
            torch.npu.graph_task_update_begin(update, handle)
            launch(lengths)
            update.synchronize()  # torch_npu does so after each operator with ASCEND_LAUNCH_BLOCKING=1
            torch.npu.graph_task_update_end(update)
        update.synchronize()
        graph.replay()
        torch.testing.assert_close(out[0], attend(query, *keys_and_values, **inputs(lengths))[0], rtol=0, atol=0)
