"""Rank tables: the JSON files that list the servers, devices and ranks of a job, as CANN documents them (versions 1.0 and 1.2)."""

import ipaddress
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PORT_VARIABLE = "HCCL_IF_BASE_PORT"
DEFAULT_PORT = 60000
LOOPBACK = "127.0.0.1"


@dataclass(frozen=True)
class RankTable:
    """The part of a rank table that the engine needs.

    Attributes:
        size: how many ranks there are.
        host: the address at which rank 0 listens for the others.
        port: likewise.

    """

    size: int
    host: str
    port: int


def read(path: str) -> RankTable:
    """Read a rank table.

    Raises:
        OSError: the file cannot be read.
        ValueError: it is not a complete rank table, its ranks are not 0, 1, ..., or it does not say where rank 0 is.

    """
    try:
        table = json.loads(Path(path).read_text())
        servers = table["server_list"]
        status = table["status"]
        devices = {int(device["rank_id"]): (server, device) for server in servers for device in server["device"]}
        count = sum(len(server["device"]) for server in servers)
    except (json.JSONDecodeError, UnicodeDecodeError, KeyError, TypeError, ValueError) as error:
        expected = "a JSON object with status and server_list, whose servers have a device list with a rank_id each"
        raise ValueError(f"clusterInfo: expected {expected}, got {path}: {error!r}") from error
    if status != "completed":
        raise ValueError(f"clusterInfo: expected a rank table whose status is completed, got {status!r} in {path}")
    if count == 0 or sorted(devices) != list(range(count)):
        raise ValueError(f"clusterInfo: expected the ranks 0 to the number of devices less 1 (of {count}), got {sorted(devices)} in {path}")
    server, device = devices[0]
    return RankTable(count, LOOPBACK if len(servers) == 1 else _host_of(server, path), _port_of(device))


def _host_of(server: dict[str, Any], path: str) -> str:
    host = str(server.get("host_ip") or server.get("server_id"))
    try:
        return str(ipaddress.ip_address(host))
    except ValueError as error:
        expected = "host_ip, or an address as server_id, of the server that has rank 0"
        raise ValueError(f"clusterInfo: expected {expected}, got {host!r} in {path}") from error


def _port_of(device: dict[str, Any]) -> int:
    name, value = "host_port", device.get("host_port")
    if value is None:
        name, value = PORT_VARIABLE, os.environ.get(PORT_VARIABLE) or DEFAULT_PORT
    if not (str(value).isdecimal() and 0 < int(value) < 65536):
        raise ValueError(f"{name}: expected a port from 1 to 65535, got {value!r}")
    return int(value)
