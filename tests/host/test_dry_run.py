"""TORCH_ACLNN_HOST_COMPUTE=0: device memory is addresses alone, and what is known and small is computed all the same."""

import json
import signal
from textwrap import dedent

import pytest

from support.subprocesses import host_mode, output_of

DRY = {"TORCH_ACLNN_HOST_COMPUTE": "0"}
START = """
acl.ok("aclrtSetDevice", 0)
def malloc(size):
    return acl.create("aclrtMalloc", size, 0)
def copy(to, source, size):
    acl.ok("aclrtMemcpy", to, size, source, size, 4)
def content(memory, size):
    read = ctypes.create_string_buffer(bytes([7]) * size, size)
    copy(read, memory, size)
    return read.raw
"""


def test_memory_of_a_chip_is_addresses_alone_and_has_what_is_small_and_known(run_engine):
    ended = run_engine(START + dedent("""
        large, small, other = malloc(40 << 30), malloc(4096), malloc(4096)
        assert content(large, 100) == bytes(100) and content(small, 4096) == bytes(4096)
        copy(small, b"known", 5)
        copy(other + 10, small, 5)
        assert content(other + 10, 5) == b"known"
        assert content(other, 20) == bytes(20)  # of which some is not known
        copy(other, large, 20)
        assert content(other + 10, 5) == bytes(5)
        assert acl.aclrtMemset(small, 4096, 1, 64) == 0 and content(small, 64) == bytes([1]) * 64
        assert acl.aclrtMemset(large, 40 << 30, 1, 40 << 30) == 0 and content(large, 64) == bytes(64)
        host = ctypes.create_string_buffer(b"host")
        assert content(host, 4) == b"host"
        word, stream = malloc(8), acl.create("aclrtCreateStream")
        assert acl.aclrtValueWait(word, 3, 0, stream) == 0  # nobody knows, so it is over
        assert acl.aclrtValueWrite(word, 3, 0, stream) == 0
        assert acl.aclrtValueWait(word, 3, 0, stream) == 0
        assert acl.aclrtSynchronizeStream(stream) == 0 and content(word, 8)[0] == 3
        for memory in (large, small, other, word):
            assert acl.aclrtFree(memory) == 0
        again = malloc(4096)
        assert content(again, 64) == bytes(64)
        # Unlike getrusage()'s maximum, this one begins with the program.
        resident = next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM"))
        print("done", int(resident) < 1 << 20)
    """), **DRY)  # fmt: skip
    assert ended.stdout == "done True\n", ended.stderr


def test_a_copy_to_the_host_that_has_not_the_memory_is_refused(run_engine):
    ended = run_engine(START + dedent("""
        import mmap
        place = mmap.mmap(-1, 1 << 42, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000)
        address = ctypes.addressof(ctypes.c_char.from_buffer(place))
        print(acl.aclrtMemcpy(address, 1 << 42, malloc(1 << 42), 1 << 42, 2), message())
    """), TORCH_ACLNN_HOST_MEMORY="5T", **DRY)  # fmt: skip
    assert ended.stdout.startswith("207001 ") and "copies 4398046511104 bytes to the host, which has" in ended.stdout, ended.stderr


def test_zeros_and_what_is_kept_on_the_host_take_no_memory(run_engine):
    """A state of an optimizer that is swapped out has as many bytes on the host."""
    ended = run_engine(START + dedent("""
        size = 1 << 30
        memory, host = malloc(size), acl.create("aclrtMallocHost", size)
        acl.aclrtMemcpy(host, size, memory, size, 2)
        for part in range(0, size, 1 << 24):
            assert acl.aclrtMemset(memory + part, 1 << 24, 0, 1 << 24) == 0
            assert acl.aclrtMemcpy(memory + part, 1 << 24, host + part, 1 << 24, 1) == 0
        assert content(memory + size - 9, 9) == bytes(9) == ctypes.string_at(host + size - 9, 9)
        assert acl.aclrtMemset(memory + 5, 9, 1, 9) == 0
        assert acl.aclrtMemset(memory + 6, 1 << 20, 0, 1 << 20) == 0
        assert content(memory + 4, 4) == bytes([0, 1, 0, 0])
        resident = next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM"))
        print("done", int(resident) < 1 << 19)
    """), **DRY)  # fmt: skip
    assert ended.stdout == "done True\n", ended.stderr


def test_memory_is_not_shared_with_other_processes(run_engine):
    ended = run_engine(START + dedent("""
        key = ctypes.create_string_buffer(65)
        print(acl.aclrtIpcMemGetExportKey(malloc(4096), 4096, key, 65, 0), message())
    """), **DRY)  # fmt: skip
    assert ended.stdout.startswith("207000 ") and "shares no memory between processes" in ended.stdout


def test_host_code_that_touches_device_memory_ends_by_a_fault_that_names_the_mode(run_engine):
    ended = run_engine(START + "ctypes.string_at(malloc(1 << 20), 4)\n", **DRY)
    assert ended.returncode == -signal.SIGSEGV
    assert "addresses alone in a dry run" in ended.stderr and "of an allocation of 1048576 bytes" in ended.stderr


# What can be known, and what it is.
KNOWN = {
    "torch.arange(5, device='npu').tolist()": [0, 1, 2, 3, 4],
    "torch.ones(3, 4, device='npu').tril().sum().item()": 6.0,
    "ids.clone().add_(1).tolist()": [1, 2, 3, 4],
    "ids.view(2, 2).t().contiguous().tolist()": [[0, 2], [1, 3]],
    "ids[ids > 1].tolist()": [2, 3],
    "torch.tensor([0, 3, 0, 5]).npu().nonzero().tolist()": [[1], [3]],
    "[t.tolist() for t in torch._foreach_add([ids.int(), ids.int()], 1)]": [[1, 2, 3, 4]] * 2,
    "ids.cpu().npu().unique(return_counts=True)[1].tolist()": [1, 1, 1, 1],
    "torch.empty(9, device='npu').fill_(2).sum().item()": 18.0,
    "torch.empty(4, 2, device='npu').normal_().cpu().std().item() > 0": True,
    "torch_npu.npu_format_cast(torch_npu.npu_format_cast(torch.ones(20, 3).half().npu(), 29), 2).sum().item()": 60.0,
    "replayed([1, 2]).tolist()": [2, 3],
    "megabytes_of(lambda: ids.view(2, 2).float() @ ids.view(2, 2).float())": 16,  # the memory is the workspace
    "((ids >= 0) | (large[:4] > 0)).tolist()": [True] * 4,
    "(large[:4] > 0).logical_and_(ids < 0).tolist()": [False] * 4,
    "torch.arange(1 << 18).npu()[-1].item()": (1 << 18) - 1,
    # Values are finite.
    "[test(large[:3]).tolist() for test in (torch.isnan, torch.isinf, torch.isfinite)]": [[False] * 3, [False] * 3, [True] * 3],
    "(large[:4].long() & (ids < 0) == 0).tolist()": [True] * 4,
    # What a packed result can have at most does not count, but what it has.
    "len(torch.ones(1 << 19, dtype=torch.bool, device='npu').nonzero())": 1 << 19,
    "large.masked_select(torch.arange(1 << 20, device='npu') < 7).numel()": 7,
    # Of a loss and a number of words that are joined, the number is known.
    "torch.cat([large.sum().view(1), torch.ones(3, device='npu'), large[:1]])[1:4].tolist()": [1.0] * 3,
    "torch.cat([large.sum().view(1), torch.ones(3, device='npu').sum().view(1)])[1].clone().detach().to(torch.int).item()": 3,
    # Experts are chosen evenly.
    "large[:24].view(6, 4).topk(2)[1].tolist()": [[0, 1], [2, 3]] * 3,
    "[one.topk(2, dim)[1].tolist() for one in [large[:24].view(6, 4)] for dim in (1, 0)][1]": [[0, 0, 1, 1], [2, 2, 3, 3]],
    "torch_npu.npu_moe_gating_top_k_softmax(large[:24].view(6, 4), None, 3)[1].tolist()[1]": [3, 0, 1],
    "large.new_zeros(6, 4).scatter_(1, large[:24].view(6, 4).topk(2)[1], 1).sum(0).tolist()": [3.0] * 4,
    "torch.zeros(4 << 20, device='npu')[-2:].tolist()": [0.0] * 2,
    "[(torch.arange(1 << 18, device='npu') + one)[-1].item() for one in (1, 1.0)]": [1 << 18] * 2,
    "(torch.arange(1 << 21, device='npu') + 1)[-1].item()": 1 << 21,
}
# Results of large tensors.
UNKNOWN = {
    "large[:3].tolist()": [0.0] * 3,
    "(ids + large[:4]).tolist()": [0.0] * 4,
    "ids.float().add_(large[:4]).tolist()": [0.0] * 4,
    "torch.cat([large[:4].view(2, 2), ids.view(2, 2)], 1)[0, 2:].tolist()": [0.0] * 2,
    "torch.cat([torch.ones(1 << 18, device='npu')] * 2)[-1].item()": 0.0,
    "torch.cat([large[:2].long(), ids.int()])[4:].tolist()": [0, 0],
    "ids.float().index_fill_(0, ids[:1], large.sum().item()).fill_(large[0]).tolist()": [0.0] * 4,
    "[t.tolist() for t in torch._foreach_mul([large[:2]], 2)]": [[0.0, 0.0]],
    "torch.ones(4, device='npu').copy_(large[:4]).tolist()": [0.0] * 4,
    "((ids > 0) | (large[:4] > 0) | (large[:4] == large[4:8])).tolist()": [False] * 4,
    "torch.rand(1 << 14, device='npu')[:2].tolist()": [0.0] * 2,
    "torch.ones(1 << 19).npu()[-1].item()": 0.0,
    "(torch.arange(1 << 19, device='npu') + 1.0)[-1].item()": 0.0,
    "len(large[:100].nonzero())": 100,
    "len(large[:100][large[:100] > 0])": 100,
    "large[:100].unique().numel()": 100,
}
EVALUATE = f"""
import torch_aclnn, torch, torch_npu, json
ids, large = torch.arange(4).npu(), torch.randn(1 << 20, device="npu")
def replayed(values):
    x, graph = torch.tensor([0, 0]).npu(), torch.npu.NPUGraph()
    with torch.npu.graph(graph):
        y = x + 1
    x.copy_(torch.tensor(values))
    graph.replay()
    return y
def megabytes_of(function):
    torch.npu.reset_peak_memory_stats()
    before, _ = torch.npu.memory_allocated(), function()
    return (torch.npu.max_memory_allocated() - before) >> 20
found = {{text: eval(text) for text in {[*KNOWN]!r}}}
assert torch_aclnn.host.statistics().value_reads == ()
found |= {{text: eval(text) for text in {[*UNKNOWN]!r}}}
begin, end = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
begin.record(); large.exp(); end.record(); end.synchronize()
found["elapsed"] = begin.elapsed_time(end) > 0
def wait():
    while large[0].item() == 0:
        pass
try:
    wait()
except RuntimeError as error:
    found["loop"] = str(error)
read = torch_aclnn.host.statistics().value_reads[0]
found["read"] = [read.stack[0][1:], read.count, read.bytes]
print(json.dumps(found))
"""


@pytest.mark.parametrize("variables", [{}, host_mode("async"), {"PYTORCH_NPU_ALLOC_CONF": "expandable_segments:True"}])
def test_what_is_known_is_computed_and_the_rest_reads_as_zero(variables):
    found = json.loads(output_of(EVALUATE, **DRY, **variables).splitlines()[-1])
    assert {text: found[text] for text in KNOWN | UNKNOWN} == KNOWN | UNKNOWN
    assert found["elapsed"]
    line = EVALUATE[: EVALUATE.index("while large")].count("\n") + 1
    assert f'File "<string>", line {line} in wait has read 10000 values that a dry run does not know' in found["loop"]
    assert found["read"] == [[line, "wait"], 10000, 40000]


def test_the_first_large_fill_takes_no_memory_of_the_host():
    """Phase 1 tries each new combination of data types with small tensors, where there is no other tensor too."""
    program = """
import torch, torch_aclnn
x = torch.empty(1 << 30, device="npu")
for fill in (x.normal_, x.uniform_, x.random_, x.zero_):
    fill()
torch.npu.synchronize()
print(next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM")) < 1 << 20)
"""
    assert output_of(program, **DRY) == "True"
