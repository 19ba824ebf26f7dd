"""torch-aclnn dryrun on programs: the figures are those of a run without it, and nothing of the program runs after its steps."""

import json
import pickle
import re
import subprocess
import sys
from pathlib import Path

import torch_aclnn  # noqa: F401  # before torch
import pytest

from support.marks import host_engine_only
from support.subprocesses import COMMAND, host_mode, output_of, run_python

# The command itself runs in a copy of a process that has imported torch; the program has a process of its own.
DRYRUN = (sys.executable, "-m", "torch_aclnn", "dryrun")

pytestmark = host_engine_only

TRAINING = """
import torch, torch_aclnn
from torch.utils.checkpoint import checkpoint
from torch.utils.data import DataLoader
def block(x, layer):
    return torch.nn.functional.gelu(layer(x))
layers = torch.nn.ModuleList(torch.nn.Linear(256, 256) for _ in range(3)).npu()
optimizer = torch.optim.AdamW(layers.parameters())
try:
    for number, x in enumerate(DataLoader(torch.randn(640, 256), batch_size=16, num_workers=1)):
        x = x.npu()
        torch_aclnn.host.reset()  # the report counts on
        with torch.autocast("npu", dtype=torch.bfloat16):
            x = checkpoint(block, x, layers[0], use_reentrant=False)
            for layer in layers[1:]:
                x = block(x, layer)
        x.float().expand(2048, 16, 256).square().mean().backward()
        if number % 2:
            optimizer.step()
            optimizer.zero_grad()
        if number == 3 and PLAIN:
            torch_aclnn.host.statistics()
            statistics = torch.npu.memory_stats()
            print(statistics["allocated_bytes.all.peak"], statistics["reserved_bytes.all.peak"])
            break
finally:
    print("checkpoint")
"""
FORWARD = "        x.float().expand(2048, 16, 256).square().mean().backward()"


def dry_run(code: str, *options: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    return run_python(code, launcher=(*DRYRUN, *options, "-c"), **environment)


def test_a_dry_run_sees_what_a_run_without_it_allocates(tmp_path):
    script, json_file, snapshot = tmp_path / "train.py", tmp_path / "report.json", tmp_path / "snapshot.pickle"
    script.write_text(f"PLAIN = False\n{TRAINING}")
    # With a queue, torch_npu may allocate workspaces and what private formats need on the queue's thread, at another moment.
    launcher = (*DRYRUN, "--json", str(json_file), "--snapshot", str(snapshot), str(script))
    done = run_python("", launcher=launcher, TASK_QUEUE_ENABLE="0", TORCH_ACLNN_HOST_SOC="Ascend910B3")
    report = json.loads(json_file.read_text())
    assert done.returncode == report["fits"]["code"] == 0, done.stderr
    assert "checkpoint" not in done.stdout and report["end"] == "steps" and report["steps"] == 2

    memory = report["memory"]
    same = {
        "TORCH_ACLNN_HOST_SOC": report["product"],
        "TORCH_ACLNN_HOST_MEMORY": "60G",
        "TASK_QUEUE_ENABLE": "0",
        **host_mode("npu_workspace"),
    }
    plain = output_of(f"PLAIN = True\n{TRAINING}", **same)
    assert [memory["allocated"], memory["reserved"]] == [int(n) for n in plain.split()[:2]]
    weights, peak = 4 * 3 * (256 * 256 + 256), memory["peak"]
    assert peak["phase"] == "backward" and peak["node"].endswith("Backward0")
    assert peak["line"].endswith(f"train.py:{TRAINING.splitlines().index(FORWARD) + 2}")
    assert {name: peak["categories"][name] for name in ("parameters and buffers", "gradients", "optimizer state")} == {
        "parameters and buffers": weights,
        "gradients": weights,
        "optimizer state": 2 * weights,
    }
    assert sum(peak["categories"].values()) == peak["requested"] <= memory["allocated"]
    assert report["calls"][1]["aclnnAddmm"] == 2 * 4  # the checkpointed layer runs again in the backward
    assert pickle.loads(snapshot.read_bytes())["segments"]
    assert "VERDICT: fits" in done.stdout and "PEAK in step 2, backward" in done.stdout


TRAINS = """
import torch
layer = torch.nn.Linear(64, 64).npu()
optimizer = torch.optim.SGD(layer.parameters(), 0.1)
def step(times=1):
    y = layer(torch.ones(8, 64, device="npu")).sum().expand(times)
    y.exp().sum().backward()
    optimizer.step()
step()
"""
ENDS = {
    "out of memory": ("step(1 << 27)", 1, "514.00 MiB failed in step 2 at <string>:7 (its backward)"),
    "ended": ("raise SystemExit('configuration is wrong')", 5, "the program ended by itself with exit code 1 after 1 of 2 steps"),
    "interrupted": ("raise KeyboardInterrupt", 5, "the program was interrupted after 1 of 2 steps, at <string>:10 KeyboardInterrupt"),
}


@pytest.mark.parametrize(("end", "code", "words"), ENDS.values(), ids=ENDS)
def test_what_was_seen_so_far_is_reported(end, code, words):
    done = dry_run(TRAINS + end, "--memory", "1500M")
    printed = " ".join(done.stdout.split())
    assert done.returncode == code and words in printed and "MEMORY" in printed, done.stdout + done.stderr


SERVES = """
import torch
class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(256, 256)
    def forward(self, x, cache):
        cache.append(self.layer(x).exp().exp().exp())
        return cache[-1]
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = torch.nn.ModuleList(Block() for _ in range(2))
    def forward(self, x, cache):
        for block in self.blocks:
            x = block(x, cache)
        return x
def generate():
    model, cache = Model().npu(), []
    with torch.no_grad():
        for words in (512, 64, 64, 64):
            x = model(torch.ones(words, 256, device="npu"), cache)
generate()
"""


def test_a_program_that_only_runs_forward_has_a_verdict(tmp_path):
    done = dry_run(SERVES, "--json", str(tmp_path / "report.json"))
    report = json.loads((tmp_path / "report.json").read_text())
    serving, words = report["serving"], 1024 * 2  # bytes of a word in the caches of both blocks
    assert done.returncode == 0 and "VERDICT: fits" in done.stdout, done.stdout + done.stderr
    assert (serving["forwards"], serving["kept"], serving["growth"]) == (4, (512 + 128) * words, 64 * words)
    assert report["memory"]["peak"]["categories"]["parameters and buffers"] == 2 * 4 * (256 * 256 + 256) <= serving["first"]


EXPERTS = """
import torch, torch_npu
router = torch.nn.Linear(64, 8).npu()
optimizer = torch.optim.AdamW(router.parameters())
for _ in range(3):
    scores = router(torch.randn(1024, 64, device="npu"))
    chosen = torch.zeros_like(scores).scatter(1, scores.topk(2)[1], 1)
    received = torch.zeros(int(chosen[:, :4].sum()), 1024, device="npu")
    assert int(torch.zeros_like(scores).scatter(1, scores.topk(8)[1], 1).sum()) == scores.numel()  # all are chosen
    assert not torch.isnan(scores.sum())
    (scores.sum() + received.sum()).backward()
    optimizer.step()
"""


def test_the_peak_with_experts_is_a_range(tmp_path):
    done = dry_run(EXPERTS, "--json", str(tmp_path / "report.json"))
    report = json.loads((tmp_path / "report.json").read_text())
    assert done.returncode == 0, done.stdout + done.stderr
    assert report["assumed"]["experts are chosen evenly: <string>:7"] == 2
    assert report["each_percent"] == pytest.approx(1024 * 2 * 4 / 8 / 100 * 1024 * 4, rel=0.05)  # a row has 4 KiB


def test_a_training_that_does_not_fit_is_told_what_would_help():
    training = (
        SERVES.partition("def generate")[0]
        + """
model = Model().npu()
optimizer = torch.optim.SGD(model.parameters(), 0.1)
while True:
    model(torch.ones(1 << 19, 256, device="npu"), []).sum().backward()
    optimizer.step()
"""
    )
    done = dry_run(training, "--memory", "2400M")
    assert done.returncode == 1 and done.stdout.endswith("VERDICT: does not fit\n"), done.stdout + done.stderr
    assert "recompute the blocks in the backward (Block)" in done.stdout and "become 2 inputs of 512.00 MiB" in done.stdout


FROM_CUDA = """
from torch.autograd.variable import Variable
import torch
from torch_npu.contrib import transfer_to_npu
layer = torch.nn.Linear(64, 64).cuda()
optimizer = torch.optim.AdamW(layer.parameters())
while True:
    loss = layer(torch.randn(8, 64, device="cuda")).square().sum()
    Variable._execution_engine.run_backward((loss,), (torch.ones_like(loss),), False, False, (), True, True)
    torch.save(layer.state_dict(), "net.pt")
    optimizer.step()
"""


def test_a_program_may_exchange_torchs_profiler_call_the_engine_and_save(tmp_path):
    done = dry_run(FROM_CUDA.replace("net.pt", str(tmp_path / "net.pt")), "--steps", "1")
    assert done.returncode == 0 and "the host reads from the NPU 2 times" in done.stdout, done.stdout + done.stderr


def test_the_largest_argument_that_fits(tmp_path):
    script = tmp_path / "train.py"
    script.write_text("import sys\n" + TRAINS.replace("\nstep()\n", "\nstep(int(sys.argv[1]) << 20)" * 2))
    options = ("--memory", "1500M", "--json", str(tmp_path / "found.json"), "--fit", "size=1:40", "--fit", "steps=1,2", "--")
    done = run_python("", launcher=(*DRYRUN, *options, str(script), "{size}", "{steps}"), TORCH_ACLNN_HOST_SOC="Ascend910B3")
    found = json.loads((tmp_path / "found.json").read_text())
    assert done.returncode == 0 and len(found["rows"]) <= 10, done.stdout + done.stderr
    sizes = [one["size"] for one in found["largest"]]
    assert f"largest size: {sizes[0]}, with steps 1" in done.stdout and 1 < sizes[1] <= sizes[0] < 40
    assert {row["values"]["size"]: row["code"] for row in found["rows"]}[sizes[0] + 1] == 1


def test_a_search_ends_at_a_program_that_fails():
    done = dry_run("raise ValueError('no luck {n}')", "--fit", "n=1:8")
    assert done.returncode == 5 and "ValueError: no luck 1" in done.stderr and "VERDICT with n 1: not known" in done.stdout


@pytest.mark.parametrize(
    ("options", "changes", "words"),
    [
        ((), {"TORCH_ACLNN_IMPORT_HOOK": "0"}, "TORCH_ACLNN_IMPORT_HOOK: expected"),
        (("-S",), {}, "-S: expected"),
        (("--memory", "32G", "--card", "Ascend1"), {}, 'got "Ascend1"'),
        ((), {"TORCH_ACLNN_HOST_SOC": "H1"}, "got H1"),
        (("--card", "H2"), {"TORCH_ACLNN_HOST_SOC": "H1"}, "got H2"),
    ],
)
def test_an_error_of_use_is_told_before_the_program_runs(options, changes, words):
    done = dry_run("1", *options, **changes)
    assert done.returncode == 2 and words in done.stderr and done.stderr.count("\n") == 1 and done.stdout == ""


RANKS = """
import os, torch, torch.distributed as dist
torch.npu.set_device(int(os.environ["LOCAL_RANK"]))
dist.init_process_group("hccl")
layer = torch.nn.Linear(64 << 10 * (dist.get_rank() // 2), 64).npu()
optimizer = torch.optim.SGD(layer.parameters(), 0.1)
for _ in range(2):
    layer(torch.ones(8, layer.in_features, device="npu")).sum().backward()
    dist.all_reduce(layer.bias.grad)
    optimizer.step()
"""


def test_ranks_that_do_the_same_run_once(tmp_path):
    drawn = tmp_path / "timeline.json"
    done = dry_run(RANKS, "--timeline", str(drawn), "--ranks", "all", "--world-size", "4", "--json", str(tmp_path / "all.json"))
    reports = json.loads((tmp_path / "all.json").read_text())
    assert [(report["rank"], report["equal_to"]) for report in reports] == [(0, None), (1, 0), (2, None), (3, 2)]
    assert all(report["time"]["seconds"] > 0 for report in reports)
    assert done.returncode == 0 and re.search(r"^0-1 .*\n2-3 ", done.stdout, re.MULTILINE) and "rank 2 decides" in done.stdout
    assert set(re.findall(r"rank \d, host", drawn.read_text())) == {"rank 0, host", "rank 2, host"}


def test_a_launcher_becomes_one_of_its_ranks(tmp_path):
    (tmp_path / "train.py").write_text(TRAINS + "step()")
    done = run_python("", launcher=(*DRYRUN, "--rank", "2", "torchrun", "--nproc_per_node", "3", str(tmp_path / "train.py")))
    assert done.returncode == 0 and "rank 2 of 3" in done.stdout and done.stdout.endswith("VERDICT: fits\n"), done.stdout + done.stderr


def test_the_example_fits():
    example = Path(__file__).parents[2] / "examples" / "dryrun.py"
    small = ("--layers", "2", "--width", "64", "--heads", "2", "--batch", "2", "--length", "64")
    # The installed command starts without torch.
    done = run_python("", launcher=(COMMAND, "dryrun", str(example), *small), TORCH_ACLNN_HOST_SOC="Ascend910B3")
    assert done.returncode == 0 and "VERDICT: fits" in done.stdout, done.stdout + done.stderr


TIMED = """
import torch
layer = torch.nn.Linear(4096, 4096, dtype=torch.bfloat16, device="npu")
layer.buffers = []  # as Megatron's modules have
optimizer = torch.optim.SGD(layer.parameters())
for _ in range(3):
    layer(torch.empty(8192, 4096, dtype=torch.bfloat16, device="npu")).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
"""


def test_the_time_of_the_last_step_is_estimated(tmp_path):
    report, timeline = tmp_path / "report.json", tmp_path / "timeline.json"
    done = dry_run(TIMED, "--timeline", str(timeline), "--json", str(report), TORCH_ACLNN_HOST_SOC="Ascend910B3")
    assert done.returncode == 0, done.stderr
    time = json.loads(report.read_text())["time"]
    products = 2 * 2 * 8192 * 4096**2  # the forward, and the weight's gradient
    assert time["utilisation"] * time["seconds"] * 294.9e12 == pytest.approx(products, rel=0.01)
    assert f"TIME of a step, estimated {time['low'] * 1e3:.2f} ms to {time['high'] * 1e3:.2f} ms" in " ".join(done.stdout.split())
    kernels = [event["name"] for event in json.loads(timeline.read_text())["traceEvents"] if event.get("cat") == "kernel"]
    assert sum("Mm" in name or "Matmul" in name or "Addmm" in name for name in kernels) == 2
