"""The Gloo groups with which ``libtorch_aclnn_collectives.so`` runs the engine's collectives."""

import ipaddress
import math
import os
import secrets
import socket
import threading
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from datetime import timedelta
from typing import Any, cast

import torch
from torch._C._distributed_c10d import PrefixStore, ProcessGroup, ProcessGroupGloo, Store, TCPStore
from torch.distributed.distributed_c10d import _world
from torch_aclnn.host import rank_table

LOOPBACK = "127.0.0.1"

# Before torch 2.10 the default store may not accept a listening socket, nor a group's messages a timeout that is set later.
_BEFORE_2_10 = [int(number) for number in torch.__version__.split(".")[:2]] < [2, 10]

# The stores of communicators which this process has announced and not joined yet. Afterwards the group keeps its store.
_announced: dict[str, TCPStore] = {}
_lock = threading.Lock()
_HAS_STORE = "has store"
_OF_TABLE = "table"


def listen() -> str:
    """Announce a communicator that has a rank in this process, and return the address that its ranks connect to.

    Raises:
        OSError: no socket can listen on this machine's address.

    """
    host = own_address()
    try:
        listener = _listener(host, 0)
    except OSError as error:
        raise OSError(error.errno, f"cannot listen for the other ranks on {host}, on the way to MASTER_ADDR: {error.strerror}") from error
    address = f"{host} {listener.getsockname()[1]} {secrets.token_hex(8)}"
    _announce(address, listener)
    return address


def meeting_of_table(path: str) -> tuple[str, int]:
    """Return the address where the ranks of a rank table meet, and how many they are.

    Raises:
        OSError: the file cannot be read.
        ValueError: it is not a rank table, or has no address.

    """
    table = rank_table.read(path)
    return f"{table.host} {table.port} {_OF_TABLE}", table.size


def listen_at(address: str) -> None:
    """Announce a communicator at that address.

    Raises:
        OSError: the address is not this machine's, or the port is taken.

    """
    host, port, _ = address.split(" ")
    try:
        listener = _listener(host, int(port))
    except OSError as error:
        raise OSError(error.errno, f"the rank table has rank 0 listen on {host}, port {port}: {error.strerror}") from error
    _announce(address, listener)


def _listener(host: str, port: int) -> socket.socket:
    return socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)


def _announce(address: str, listener: socket.socket) -> None:
    host, port, _ = address.split(" ")
    socket_of_store = listener.detach()
    store = TCPStore(host, int(port), is_master=True, wait_for_workers=False, master_listen_fd=socket_of_store, use_libuv=not _BEFORE_2_10)
    with _lock:
        _announced[address] = store


def connect(address: str, name: str, rank: int, size: int, connect_timeout: float, timeout: float) -> tuple[Any, Store, int]:
    """Join the communicator as one of its ranks; when all have joined, return its Gloo group, its store and the rank with the store.

    That rank is -1 if the store belongs to the communicator from which this one was made.

    Args:
        address: what ``listen`` returned, with a suffix if the communicator was made of another.
        name: of the communicator.
        rank: this one's.
        size: how many ranks there are.
        connect_timeout: how long to wait for the others, in seconds.
        timeout: of each operation, in seconds; both are shorter where the process group of that name has a shorter timeout.

    Raises:
        RuntimeError: not all ranks came in time, or there is no connection to the rank where all meet.

    """
    limit = _timeout_of_group(name)
    connect_timeout, timeout = min(connect_timeout, limit), min(timeout, limit)
    host, port, key = address.split(" ")
    with _lock:
        store: Store | None = _announced.pop(address, None)
    has_store = store is not None
    if store is None:
        if key != _OF_TABLE:
            _require_listener(host, int(port))
        store = _store_at(host, int(port), connect_timeout)
    store.set_timeout(timedelta(seconds=connect_timeout))
    meeting = PrefixStore(key, store)
    meeting.set(_here(rank), "")
    if has_store:
        meeting.set(_HAS_STORE, str(rank))
    try:
        if _BEFORE_2_10:
            meeting.wait([_here(other) for other in range(size)], timedelta(seconds=connect_timeout))
        group: Any = ProcessGroupGloo(meeting, rank, size, _options(timeout if _BEFORE_2_10 else connect_timeout))
        meeting_rank = int(meeting.get(_HAS_STORE)) if meeting.check([_HAS_STORE]) else -1
        group.barrier().wait()  # the rank with the store goes on after all have read from it
    except RuntimeError as error:
        raise RuntimeError(f"rank {rank} of {size} waited {connect_timeout:g} s for {_absent(meeting, size)}: {error}") from error
    group._set_default_timeout(timedelta(seconds=timeout))
    return group, meeting, meeting_rank


def _require_listener(host: str, port: int) -> None:
    """Fail at once if nobody listens: the process that made a root info listens before it passes the info on."""
    try:
        socket.create_connection((host, port), timeout=5).close()
    except ConnectionRefusedError:
        raise RuntimeError(
            f"nothing listens on {host}, port {port}: the process that made the root info has ended; if torchrun has started the ranks "
            "again, this rank read the root info of the attempt before, which TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1 prevents"
        ) from None
    except OSError:
        return  # the other machine may be slow to reach: torch's store tries again until the timeout


def _store_at(host: str, port: int, timeout: float) -> Store:
    """Connect to a store, on a thread that is abandoned after the timeout: torch waits forever for a listener that is no store."""
    connected: Future[Store] = Future()

    def run() -> None:
        try:
            connected.set_result(TCPStore(host, port, is_master=False, timeout=timedelta(seconds=timeout)))
        except RuntimeError as error:
            connected.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    try:
        return connected.result(timeout + 1)
    except FutureTimeoutError:
        raise RuntimeError(f"what listens on {host}, port {port}, is no store of the ranks: no answer in {timeout:g} s") from None


def _here(rank: int) -> str:
    return f"here/{rank}"


def _absent(meeting: Store, size: int) -> str:
    """Return the ranks that have not joined, in words."""
    try:
        absent = [str(rank) for rank in range(size) if not meeting.check([_here(rank)])]
    except RuntimeError:
        return "the rank where all meet, which does not answer"
    return f"rank {', '.join(absent)}" if absent else "the others, which came, and then failed"


def own_address() -> str:
    """Return the address of this machine on the way to ``MASTER_ADDR``; the loopback address where that is not set."""
    master = os.environ.get("MASTER_ADDR", "") or LOOPBACK
    family, _, _, _, remote = socket.getaddrinfo(master, 9, type=socket.SOCK_DGRAM)[0]
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        probe.connect(remote)  # connecting a datagram socket sends nothing
        address: str = probe.getsockname()[0]
    return LOOPBACK if ipaddress.ip_address(address).is_loopback and ":" not in address else address


def _options(timeout: float) -> Any:
    options = cast(Any, ProcessGroupGloo)._Options()
    options._timeout = timedelta(seconds=timeout)
    options._threads = 1  # operations run one at a time
    options._devices = [ProcessGroupGloo.create_device(hostname=own_address())]
    return options


def _timeout_of_group(name: str) -> float:
    """Return the timeout of torch's process group for which the communicator is made, in seconds; torch_npu does not pass it on.

    It is reduced by the time that finding the lost ranks takes, so that this error comes before that of torch_npu's watchdog, which
    ends the process.
    """
    timeouts = {name_of_group: timeout for name_of_group, timeout in map(_name_and_timeout, list(_world.pg_map)) if timeout}
    timeout = timeouts.get(name) or max(timeouts.values(), default=math.inf)
    return timeout - min(5, timeout / 4)


def _name_and_timeout(group: ProcessGroup) -> tuple[str, float]:
    try:
        options: Any = group._get_backend(torch.device("npu")).options
    except RuntimeError:  # raised where the group has no backend for the device
        return "", 0
    return f"group_name_{options.group_id}", options._timeout.total_seconds()
