"""A rank whose peers are not there."""

from pathlib import Path

import pytest

from support.marks import of_a2_and_a3
from support.rank_calls import call_in_ranks, values_of
from support.subprocesses import host_mode, output_of, run_python

ALONE = "TORCH_ACLNN_HOST_RANK_ALONE"

PROGRAM = """
import os
import torch, torch_aclnn
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

torch.npu.set_device(int(os.environ["LOCAL_RANK"]))
dist.init_process_group("hccl")
rank, ranks = dist.get_rank(), dist.get_world_size()
"""


@pytest.mark.parametrize(("ranks", "computes"), [(2, "1"), pytest.param(4, "0", marks=pytest.mark.slow)])
@of_a2_and_a3
def test_needs_and_moves_what_it_does_among_its_peers(ranks: int, computes: str) -> None:
    """In the second run each process is alone; a dry run gives the same figures."""
    alone = {ALONE: "1", "TORCH_ACLNN_HOST_COMPUTE": computes}
    modes = host_mode("npu_workspace")
    runs = [values_of(call_in_ranks("support.measured_ranks:measure", ranks, backend="hccl", **modes, **each)) for each in ({}, alone)]
    for (memory, moved), of_one_alone in zip(*runs, strict=True):
        assert len(moved) >= 7 and all(held > 0 for kind, held, _ in memory if kind != "of_the_cpu")
        assert (memory, moved) == of_one_alone


def outcome_of(rank: int, ranks: int, code: str) -> str:
    return output_of(PROGRAM + code, TORCH_ACLNN_HOST_RANK_ALONE="1", RANK=str(rank), WORLD_SIZE=str(ranks)).strip()


def test_others_hold_what_it_holds() -> None:
    """The program is one for torchrun, of which the environment has no more than the rank."""
    assert outcome_of(9, 16, """
assert (rank, ranks, torch.npu.device_count(), torch.npu.current_device()) == (9, 16, 8, 1)
x = torch.tensor([1.0, 3.0], device="npu")
summed, mean, gathered = x.clone(), x.clone(), [torch.empty(2, device="npu") for _ in range(ranks)]
dist.all_reduce(summed)
dist.all_reduce(mean, op=dist.ReduceOp.AVG)
dist.all_gather(gathered, x)
assert summed.tolist() == [16, 48] and mean.tolist() == [1, 3] and all(each.tolist() == [1, 3] for each in gathered)
parts = torch.arange(16.0, device="npu")
scattered, exchanged, received = torch.empty(1, device="npu"), torch.empty(16, device="npu"), torch.ones(2, device="npu")
dist.reduce_scatter_tensor(scattered, parts, op=dist.ReduceOp.MAX)
dist.all_to_all_single(exchanged, parts)
dist.recv(received, 8)
assert scattered.tolist() == [9] and exchanged.tolist() == [9] * 16 and received.tolist() == [0, 0]
shape, of_another = torch.tensor([8, 2, 4]).npu(), torch.empty(3, dtype=torch.int64, device="npu")
dist.recv(of_another, 8)
assert of_another.tolist() == [0, 0, 0]
dist.send(shape, 8)
dist.send(shape + 1, 8)
for expected in ([8, 2, 4], [9, 3, 5], [9, 3, 5]):
    dist.recv(of_another, 8)
    assert of_another.tolist() == expected
dist.broadcast(x, 0)
dist.gather(x, None, 0)
dist.barrier()
objects, kept = [None] * ranks, ["this", rank]
dist.all_gather_object(objects, rank)
dist.broadcast_object_list(kept, 0)
dist.gather_object(rank, None, 0)
assert objects == [9] * ranks and kept == ["this", 9] and x.tolist() == [1, 3]
store = dist.distributed_c10d._get_default_store()
store.set(f"address/{rank}", "of 9")
assert store.get("address/3") == b"of 9" and store.add("ready", 1) == ranks
store.wait(["what another writes"])
model, single = (torch.nn.Linear(2, 1).npu() for _ in range(2))
single.load_state_dict(model.state_dict())
for each in (DistributedDataParallel(model), single):
    each(x).square().backward()
assert torch.equal(model.weight.grad, single.weight.grad)
print("done")
dist.destroy_process_group()
""") == "done"  # fmt: skip


PIPELINE_OF_TWO = """
sends = dist.new_group([0, 1])
for shape in ([3, 5], [4, 6]):
    dist.send(torch.tensor(shape, device="npu"), 1, group=sends)
for _ in range(2):
    received = torch.empty(1 << 20, dtype=torch.int64, device="npu")[7:9]
    dist.recv(received, 1)
    print(received.tolist())
dist.destroy_process_group()
"""


def test_a_stage_gets_the_shapes_that_it_sent_through_another_communicator() -> None:
    """In a dry run, where the memory that is received into has unknown values."""
    variables = {ALONE: "1", "RANK": "0", "WORLD_SIZE": "2", "TORCH_ACLNN_HOST_COMPUTE": "0"}
    assert output_of(PROGRAM + PIPELINE_OF_TWO, **variables).splitlines() == ["[3, 5]", "[4, 6]"]


EXPERTS = """
rows, experts = torch.randn(8192, 8, device="npu"), 8
gate = torch.nn.Linear(8, experts).npu()
_, chosen = gate(rows).softmax(-1).topk(2)
counts = torch.histc(chosen.float(), bins=experts, min=0, max=experts - 1).long()
theirs = torch.empty_like(counts)
dist.all_to_all_single(theirs, counts)
send, receive = (each.view(ranks, -1).sum(1).tolist() for each in (counts, theirs))
routed = rows.repeat_interleave(2, 0)[chosen.flatten().argsort()]
dist.all_to_all_single(torch.empty(sum(receive), 8, device="npu"), routed, receive, send)
print(send, receive)
dist.destroy_process_group()
"""


@pytest.mark.parametrize(("load", "moved"), [("1", "[8192, 8192] [8192, 8192]"), ("1.5", "[12288, 4096] [12288, 12288]")])
def test_experts_are_chosen_evenly_in_a_dry_run(load: str, moved: str) -> None:
    """Other ranks send as many rows as this one keeps."""
    variables = {ALONE: "1", "RANK": "0", "WORLD_SIZE": "2", "TORCH_ACLNN_HOST_COMPUTE": "0", "TORCH_ACLNN_HOST_EXPERT_LOAD": load}
    assert output_of(PROGRAM + EXPERTS, **variables).strip() == moved


BUILDER = """
class AtbOpBuilder:
    def __init__(self, name):
        self.name = name
"""


def test_operators_of_atb_that_mindspeed_compiles_need_no_atb(tmp_path: Path) -> None:
    """The other ranks are taken to have the same tensors as this one; ranks 2 and 3 are neighbours, 1 and 3 are not."""
    (tmp_path / "mindspeed" / "op_builder").mkdir(parents=True)
    (tmp_path / "mindspeed" / "op_builder" / "atb_builder.py").write_text(BUILDER)
    assert outcome_of(3, 4, f"""
import sys; sys.path.append({str(tmp_path)!r})
from mindspeed.op_builder.atb_builder import AtbOpBuilder
operators = AtbOpBuilder("lcal").load()
def check(result, expected):
    torch.testing.assert_close(result.cpu().double(), expected, rtol=2e-3, atol=2e-3)
x, w = (torch.randn(6, columns, dtype=torch.half, device="npu") for columns in (4, 5))
a, b = x.cpu().double(), w.cpu().double()
sums, groups = torch.ones(4, 5, device="npu"), torch.ones(2, 4, 5, device="npu")
AtbOpBuilder("npu_matmul_add_fp32").load().npu_matmul_add_fp32(x, w, sums)
AtbOpBuilder("npu_groupmatmul_add_fp32").load().npu_groupmatmul_add_fp32(x, w, torch.tensor([2, 6]).npu(), groups)
check(sums, 1 + a.T @ b)
check(groups, 1 + torch.stack([a[:2].T @ b[:2], a[2:].T @ b[2:]]))
whole, neighbours, apart = [3, 4, "0"], [1, 2, "10"], [1, 2, "20"]
for ranks in ([0, 1], [2, 3], [0, 2], [1, 3]):
    dist.new_group(ranks)
def result(name, rows, where, *more):
    output = torch.empty(rows, 5, dtype=torch.half, device="npu")
    getattr(operators, name)(x, second, bias, output, *more, *where)
    return output
second = torch.randn(5, 4, dtype=torch.half, device="npu")
bias, product = torch.ones(5, dtype=torch.half, device="npu"), a @ second.cpu().double().T
check(result("pure_matmul", 6, whole), product + 1)
check(result("matmul_all_reduce", 6, whole), 4 * product + 1)
check(result("all_gather_matmul", 24, whole), product.repeat(4, 1) + 1)
gathered = torch.empty(12, 4, dtype=torch.half, device="npu")
check(result("all_gather_matmul_v2", 12, apart, gathered), product.repeat(2, 1) + 1)
check(gathered, a.repeat(2, 1))
check(result("matmul_reduce_scatter", 3, neighbours), 2 * product[3:] + 1)
output = torch.empty(6, 5, dtype=torch.half, device="npu")
operators.all_gather_matmul_reduce_scatter(x, second, bias, output, 3, 4, "1", 2, 2, True)
check(output, 2 * product + 1)
try:
    AtbOpBuilder("swiglu").load()
except RuntimeError as error:
    print(str(error)[:44])
dist.destroy_process_group()
""") == "swiglu: expected one of npu_matmul_add_fp32,"  # fmt: skip


@pytest.mark.parametrize(("call", "message"), [
    ("dist.recv_object_list([None], 0)", "recv_object_list: no other rank is there to send objects"),
    ("dist.scatter_object_list([None], None, 0)", "scatter_object_list: expected this rank as src"),
    ("dist.distributed_c10d._get_default_store().get('word')", "the store's key default_pg/0//word is written by another rank"),
])  # fmt: skip
def test_what_others_alone_know_is_refused_by_name(call: str, message: str) -> None:
    printed = outcome_of(
        1, 2, f"try:\n    {call}\nexcept RuntimeError as error:\n    print(str(error).splitlines()[0])\ndist.destroy_process_group()"
    )
    assert printed.startswith(f"{ALONE}: {message}")


def test_a_rank_beyond_the_ranks_is_refused() -> None:
    ended = run_python(PROGRAM, TORCH_ACLNN_HOST_RANK_ALONE="1", RANK="2", WORLD_SIZE="2")
    assert "RANK: expected a number in 0..1, because WORLD_SIZE is 2, got 2" in ended.stderr
