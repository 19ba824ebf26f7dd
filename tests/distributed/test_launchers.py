"""Programs of several processes under what people start them with, on one machine and on two."""

import json
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from support.ranks import PROGRAMS
from support.subprocesses import output_of

pytestmark = pytest.mark.slow

# With time to end what they started.
PYTHON = ("timeout", "180", sys.executable)
TORCHRUN = (*PYTHON, "-m", "torch.distributed.run")
PROGRAM = str(PROGRAMS / "launched.py")
LOOPBACK = "0100007F"  # 127.0.0.1, as /proc/net/tcp writes it


def results_of(*launcher: str, **environment: str) -> list[dict]:
    lines = output_of("", launcher=launcher, OMP_NUM_THREADS="1", **environment).splitlines()
    return [json.loads(line) for line in lines if line.startswith("{")]


def test_torchrun_starts_killed_processes_again():
    """Each attempt has a store of its own; otherwise torch can hand a rank the root info of the attempt before."""
    launcher = (*TORCHRUN, "--standalone", "--nproc-per-node=2", "--max-restarts=1", PROGRAM, "killed")
    (result,) = results_of(*launcher, TORCH_DISABLE_SHARE_RDZV_TCP_STORE="1")
    # torch's own store, which is in the first rank's process then, listens on all addresses.
    addresses = [address for address in result.pop("addresses") if address.strip("0")]
    assert result == {"ranks": 2, "equal": True, "restarts": "1"}
    assert addresses == [LOOPBACK]


@pytest.mark.exhaustive
def test_spawn():
    (result,) = results_of(*PYTHON, PROGRAM, TORCH_ACLNN_HOST_DEVICES="2")
    assert result["ranks"] == 2 and result["equal"]


def test_accelerate():
    pytest.importorskip("accelerate")
    launch = (*PYTHON, "-m", "accelerate.commands.launch", "--num_processes=2", "--main_process_port=0")
    (result,) = results_of(*launch, str(PROGRAMS / "accelerated.py"), TORCH_ACLNN_HOST_DEVICES="2")
    assert result.pop("difference") < 1e-6
    assert result == {"kind": "MULTI_NPU", "backend": "hccl", "weights": 2}


def run_nodes(prefixes: list[tuple[str, ...]], address: str) -> dict:
    """Run torchrun behind each of two prefixes; return what the first rank, on the first node, printed."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    meeting = (f"--master-addr={address}", f"--master-port={port}")
    nodes = [
        (*prefix, *TORCHRUN, "--nnodes=2", f"--node-rank={number}", "--nproc-per-node=1", *meeting, PROGRAM)
        for number, prefix in enumerate(prefixes)
    ]
    with ThreadPoolExecutor() as threads:
        first, second = threads.map(lambda node: results_of(*node), nodes)
    assert second == []
    return first[0]


def test_two_nodes_on_loopback_addresses():
    assert run_nodes([(), ()], "127.0.0.2") == {"ranks": 2, "equal": True, "restarts": "0", "addresses": [LOOPBACK]}


@pytest.fixture
def machines() -> Iterator[list[tuple[str, ...]]]:
    """What runs a command in either of two network namespaces, at 10.213.0.1 and 10.213.0.2, with a cable between them."""
    if shutil.which("ip") is None:
        pytest.skip("needs the program ip")
    names = [f"torch_aclnn_{os.getpid()}_{number}" for number in (1, 2)]
    steps = [f"netns add {name}" for name in names]
    steps += [f"link add cable netns {names[0]} type veth peer name cable netns {names[1]}"]
    for number, name in enumerate(names, 1):
        steps += [f"-n {name} addr add 10.213.0.{number}/24 dev cable", f"-n {name} link set lo up", f"-n {name} link set cable up"]
    try:
        for step in steps:
            done = subprocess.run(["ip", *step.split()], capture_output=True, text=True)
            if done.returncode:
                pytest.skip(f"needs to make network namespaces: ip {step}: {done.stderr.strip()}")
        yield [("ip", "netns", "exec", name) for name in names]
    finally:
        for name in names:
            subprocess.run(["ip", "netns", "del", name], capture_output=True)


@pytest.mark.exhaustive
def test_two_machines_listen_on_the_address_between_them(machines):
    assert run_nodes(machines, "10.213.0.1") == {"ranks": 2, "equal": True, "restarts": "0", "addresses": ["0100D50A"]}
