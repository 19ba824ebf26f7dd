"""Running Python programs in copies of a process that has imported torch (fork_server.py)."""

import json
import os
import re
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

# What is read after torch was imported. A program with another environment otherwise needs a process of its own.
_READ_LATE = (
    *("ACL", "ASCEND_", "COMBINED_ENABLE", "HCCL_", "INF_NAN_MODE_", "PYTORCH_NPU_ALLOC_CONF", "TASK_QUEUE_ENABLE"),
    *("LOCAL_RANK", "MASTER_", "RANK", "WORLD_SIZE", "TORCH_ACLNN_", "TORCH_DEVICE_BACKEND_AUTOLOAD", "TORCH_NPU_"),
    *("HOME", "PYTEST_CURRENT_TEST", "TMPDIR"),
)
_IMPORT = re.compile(r"^(import|from) .*\btorch_(aclnn|npu)\b", re.MULTILINE)
_AGAIN = 0.1  # seconds until a thread looks whether another one has received what it waits for
_SERVER = Path(__file__).with_name("fork_server.py")


def _imports_package(kind: str, program: str = "") -> bool:
    if kind == "-m":
        return program.startswith(("torch_aclnn", "torch.distributed.run"))
    if kind.startswith("-") and kind != "-c":
        return False
    return bool(_IMPORT.search(program if kind == "-c" else Path(kind).read_text()))


class Fork:
    """A running program; the methods are those of subprocess.Popen."""

    def __init__(self, server: "ForkServer", pid: int) -> None:
        self._server = server
        self.pid = pid
        self.returncode: int | None = None

    def poll(self) -> int | None:
        return self._end(0)

    def wait(self, timeout: float | None = None) -> int:
        if (ended := self._end(timeout)) is None:
            raise subprocess.TimeoutExpired(str(self.pid), timeout or 0)
        return ended

    def kill(self) -> None:
        if self.poll() is None:
            os.kill(self.pid, signal.SIGKILL)
            self.wait()

    def _end(self, timeout: float | None) -> int | None:
        if self.returncode is None and (status := self._server.status_of(self.pid, timeout)) is not None:
            self.returncode = os.waitstatus_to_exitcode(status)
        return self.returncode


class ForkServer:
    """Starts fork_server.py with an environment, and programs in copies of it."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self.environment = environment
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._ended: dict[int, int] = {}
        self._lock = threading.Lock()
        command = [sys.executable, str(_SERVER), str(theirs.fileno())]
        self._process = subprocess.Popen(command, env=environment, pass_fds=[theirs.fileno()])
        theirs.close()

    def can_run(self, command: Sequence[str], environment: Mapping[str, str]) -> bool:
        """Return whether a program may find torch imported.

        That is the case if it imports torch_aclnn or torch_npu itself, in place of torch's loading of backends, Python has no options, and
        all variables that differ from those of this process are read later.
        """
        differ = dict(self.environment.items() ^ environment.items())
        return command[0] == sys.executable and _imports_package(*command[1:3]) and all(name.startswith(_READ_LATE) for name in differ)

    def start(
        self, command: Sequence[str], streams: Sequence[int], *, environment: Mapping[str, str], directory: str, session: bool = False
    ) -> Fork:
        """Run a command for which `can_run` holds, with these standard streams, in a session of its own or not."""
        request = {"arguments": command[1:], "environment": environment, "directory": directory, "session": session}
        with self._lock:
            socket.send_fds(self._socket, [json.dumps(request).encode()], streams)
            while True:
                pid, status = self._receive()
                if status is None:
                    return Fork(self, pid)

    def status_of(self, pid: int, timeout: float | None) -> int | None:
        end = None if timeout is None else time.monotonic() + timeout
        while True:
            with self._lock:
                while pid not in self._ended and select.select([self._socket], [], [], 0)[0]:
                    self._receive()
                if pid in self._ended:
                    return self._ended.pop(pid)
            left = _AGAIN if end is None else end - time.monotonic()
            if left <= 0:
                return None
            select.select([self._socket], [], [], min(left, _AGAIN))

    def _receive(self) -> tuple[int, int | None]:
        answer = self._socket.recv(4096)
        assert answer, "the process that is copied has ended"
        pid, status = json.loads(answer)
        if status is not None:
            self._ended[pid] = status
        return pid, status
