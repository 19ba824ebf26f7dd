"""torchair and npugraph_ex, which torch_npu's wheel brings: what needs CANN's graph engine is refused by name, captured graphs work."""

import pytest

from support.marks import host_engine_only, skip_with
from support.subprocesses import output_of

pytestmark = host_engine_only

# Run in a process of its own, because both packages handle signals and leave work for the end of the importing process.
BEGIN = """
import torch, torch_npu
from torch import nn
counts = {"captures": 0, "replays": 0}

def count(name, method):
    def counted(*arguments, **options):
        counts[name] += 1
        return method(*arguments, **options)
    return counted

torch.npu.NPUGraph.capture_begin = count("captures", torch.npu.NPUGraph.capture_begin)
torch.npu.NPUGraph.replay = count("replays", torch.npu.NPUGraph.replay)

class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight, self.linear = nn.Parameter(torch.ones(16)), nn.Linear(16, 16)
    def forward(self, x, residual):
        y, _, residual = torch_npu.npu_add_rms_norm(x, residual, self.weight, 1e-5)
        return torch.relu(self.linear(y)), residual

model = Block().npu()

def run(compiled, *sizes):
    with torch.no_grad():
        for size in sizes:
            inputs = torch.randn(2, size, 16).npu().unbind()
            torch.testing.assert_close(compiled(*inputs), model(*inputs), rtol=0, atol=0)
    print(counts["captures"] > 0, counts["replays"])
"""


@pytest.fixture
def protobuf():
    pytest.importorskip("google.protobuf", reason="torchair needs it")


def test_torchair_is_imported_and_a_compile_through_the_graph_engine_is_refused(protobuf):
    code = """
    import torch, torchair
    from torchair.ge_concrete_graph import ge_apis
    try:
        torch.compile(torch.relu, backend=torchair.get_npu_backend(compiler_config=torchair.CompilerConfig()))(torch.ones(2).npu())
    except RuntimeError as error:
        print(str(error).splitlines()[1])
    """
    said = output_of(code)
    assert said.startswith("RuntimeError: ge::") and 'no graph engine (GE); use torch.compile with backend="aot_eager"' in said


def test_reduce_overhead_of_torchair_captures_and_replays(protobuf):
    code = """
import torchair
for dynamic in (False, True):
    torch._dynamo.reset()
    config = torchair.CompilerConfig()
    config.mode = "reduce-overhead"
    run(torch.compile(model, backend=torchair.get_npu_backend(compiler_config=config), dynamic=dynamic), 2, 2, 3, 3, 2)
"""
    assert output_of(BEGIN + code).splitlines()[-2:] == ["True 5", "True 10"]


def test_npugraph_ex_as_vllm_ascend_uses_it_and_in_training():
    """The backend takes its options, patterns that replace operators, and a folder for compiled code."""
    skip_with("2.7", "2.9", "there is no package npugraph_ex")
    code = """
import npugraph_ex, tempfile
whole = {"backend": "npugraph_ex", "dynamic": True, "fullgraph": True}
options = {"inplace_pass": False, "clone_input": False, "clone_output": False}
run(torch.compile(model, **whole, options={**options, "force_eager": True}), 2, 3)
torch._dynamo.reset()
run(torch.compile(model, **whole, options=options), 2, 2, 3, 2)

def pattern(x, residual, weight):
    y, _, residual = torch.ops.npu.npu_add_rms_norm(x, residual, weight, 1e-5)
    return y, residual

def replacement(x, residual, weight):
    counts["replaced"] = True
    y, _, residual = torch.ops.npu.npu_add_rms_norm(x, residual, weight, 1e-5)
    return y * 1, residual

examples = [torch.randn(shape).npu() for shape in ((2, 16), (2, 16), 16)]
npugraph_ex.register_replacement(search_fn=pattern, replace_fn=replacement, example_inputs=examples)
torch._dynamo.reset()
run(torch.compile(model, **whole), 2)
print(counts["replaced"])
run(npugraph_ex.inference.cache_compile(model.forward, dynamic=True, cache_dir=tempfile.mkdtemp()), 2, 3)

def losses(call):
    torch.manual_seed(0)
    network = nn.Sequential(nn.Linear(16, 8), nn.ReLU(), nn.Linear(8, 2)).npu()
    called, optimiser = call(network), torch.optim.SGD(network.parameters(), 0.1)
    for _ in range(3):
        loss = called(torch.randn(4, 16).npu()).square().mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        yield loss.item()

print(list(losses(lambda network: torch.compile(network, backend="npugraph_ex"))) == list(losses(lambda network: network)))
print(counts["replays"])
"""
    assert output_of(BEGIN + code).splitlines()[-7:] == ["False 0", "True 4", "True 5", "True", "True 7", "True", "13"]
