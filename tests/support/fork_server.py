"""A Python process that has imported torch and runs programs in copies of itself.

Starting Python and importing torch and what torch_npu imports of it takes seconds; a copy of a process that has done so takes
milliseconds. A copy has no thread, no engine and no torch_npu: it differs from a new process in that torch is imported already, without
loading backends (TORCH_DEVICE_BACKEND_AUTOLOAD=0). The program ends as any other, with Python's finalization.

Requests come as lines of JSON on the socket whose descriptor is the argument, with the descriptors of the standard streams; the answers
are [process, null] at the start and [process, status as of os.waitpid] at the end.
"""

import contextlib
import gc
import json
import os
import select
import signal
import socket
import sys
from typing import Any

import torch
import torch._dynamo
import torch.distributed._tensor.experimental
import torch.distributed.checkpoint
import torch.distributed.fsdp.sharded_grad_scaler
import torch.distributed.run
import torch.nn.attention.flex_attention  # noqa: F401  (what torch_npu imports of torch)

from torch_aclnn_command import run_program


def serve(requests: socket.socket) -> dict[str, Any]:
    """Answer requests until the other end closes; return in each copy, with what it shall run."""
    gc.freeze()  # a collection in a copy would write to, and so copy, every page that holds an object
    ended, wakes = os.pipe()
    os.set_blocking(wakes, False)
    signal.set_wakeup_fd(wakes)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    while True:
        ready, _, _ = select.select([requests, ended], [], [])
        if ended in ready:
            os.read(ended, 4096)
            with contextlib.suppress(ChildProcessError):
                while (end := os.waitpid(-1, os.WNOHANG))[0]:
                    _answer(requests, *end)
        if requests in ready:
            text, streams, _, _ = socket.recv_fds(requests, 1 << 24, 3)
            if not text:
                sys.exit()
            process = os.fork()
            if process == 0:
                signal.set_wakeup_fd(-1)
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                for number, stream in enumerate(streams):
                    os.dup2(stream, number)
                for descriptor in (*streams, ended, wakes, requests.detach()):
                    os.close(descriptor)
                return json.loads(text)
            for stream in streams:
                os.close(stream)
            _answer(requests, process, None)


def _answer(requests: socket.socket, *values: int | None) -> None:
    requests.send(json.dumps(values).encode())


def run(arguments: list[str], *, environment: dict[str, str], directory: str, session: bool) -> None:
    """Run what `python` would run with these arguments."""
    if session:
        os.setsid()
    os.chdir(directory)
    os.environ.clear()
    os.environ.update(environment)
    run_program(arguments)


if __name__ == "__main__":
    request = serve(socket.socket(fileno=int(sys.argv[1])))
    run(request.pop("arguments"), **request)
