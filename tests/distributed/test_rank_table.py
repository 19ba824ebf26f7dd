"""Communicators of the ranks that a rank table lists (RANK_TABLE_FILE), and where those of a root info meet."""

import json
import socket
from pathlib import Path

import pytest
from torch_aclnn.host import rank_table
from torch_aclnn.host.collectives import connect

from support.ranks import Rank, run_ranks


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


def server(name: str, *ranks: int, **more: str) -> dict:
    return {"server_id": name, "device": [{"device_id": str(i), "rank_id": str(rank)} for i, rank in enumerate(ranks)], **more}


def table(directory: Path, *servers: dict, **changes: object) -> Path:
    path = directory / "ranks.json"
    content = {"status": "completed", "version": "1.0", "server_count": str(len(servers)), "server_list": list(servers)}
    path.write_text(json.dumps(content | changes))
    return path


def found_by(rank: Rank) -> dict:
    assert rank.returncode == 0, rank.stderr[-4000:]
    return json.loads(rank.stdout.splitlines()[-1])


@pytest.mark.parametrize("servers", [
    [server("node_0", 0, 1, 2)],
    pytest.param([server("127.0.0.1", 0, 1), server("127.0.0.2", 2)], marks=pytest.mark.slow),
])  # fmt: skip
def test_all_communicators_are_made_of_the_table(servers: list[dict], tmp_path: Path) -> None:
    settings = {"RANK_TABLE_FILE": str(table(tmp_path, *servers)), "HCCL_IF_BASE_PORT": str(free_port())}
    ranks = run_ranks("rank_table", 3, tmp_path, TORCH_ACLNN_HOST_TRACE=str(tmp_path / "trace"), **settings)
    expected = [{"all": 6, "ends": 4, "message": 0}, {"all": 6, "message": 0}, {"all": 6, "ends": 4}]
    assert [found_by(rank) for rank in ranks] == expected
    traced: dict[int, list[str]] = {}
    for line in map(json.loads, (tmp_path / "trace").read_text().splitlines()):
        traced.setdefault(line["pid"], []).append(line.get("name", line["kind"]))
    makers = [names for names in traced.values() if "HcclCommInitClusterInfoConfig" in names]
    assert len(makers) == 3
    for names in makers:
        assert names.count("HcclCommInitClusterInfoConfig") == 1
        assert "HcclCreateSubCommConfig" in names
        assert "HcclGetRootInfo" not in names


@pytest.mark.slow
def test_port_that_is_taken_is_named(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:  # accepts connections and never answers
        port = str(taken.getsockname()[1])
        settings = {"RANK_TABLE_FILE": str(table(tmp_path, server("node_0", 0, 1))), "HCCL_IF_BASE_PORT": port, "HCCL_CONNECT_TIMEOUT": "3"}
        ranks = run_ranks("rank_table", 2, tmp_path, **settings)
    assert f"the rank table has rank 0 listen on 127.0.0.1, port {port}: Address already in use" in ranks[0].stderr
    assert f"what listens on 127.0.0.1, port {port}, is no store of the ranks: no answer in 3 s" in ranks[1].stderr
    assert all(rank.returncode == 0 and rank.seconds < 40 for rank in ranks)  # torch_npu goes on without the table


def test_where_rank_0_listens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(rank_table.PORT_VARIABLE, raising=False)
    one, other = server("node_0", 1, 0), server("node_1", 2)
    assert rank_table.read(str(table(tmp_path, one))) == rank_table.RankTable(2, "127.0.0.1", 60000)
    monkeypatch.setenv(rank_table.PORT_VARIABLE, "50000")
    assert rank_table.read(str(table(tmp_path, one | {"host_ip": "10.0.0.1"}, other))) == rank_table.RankTable(3, "10.0.0.1", 50000)
    one["device"][1]["host_port"] = "16665"
    assert rank_table.read(str(table(tmp_path, one | {"server_id": "10.0.0.2"}, other))) == rank_table.RankTable(3, "10.0.0.2", 16665)


@pytest.mark.parametrize(("servers", "changes", "message"), [
    ([server("a", 0)], {"status": "initializing"}, "expected a rank table whose status is completed, got 'initializing'"),
    ([server("a", 0, 2)], {}, r"expected the ranks 0 to the number of devices less 1 \(of 2\), got \[0, 2\]"),
    ([server("a", 0, 0)], {}, r"expected the ranks 0 to the number of devices less 1 \(of 2\), got \[0\]"),
    ([], {}, r"expected the ranks 0 to the number of devices less 1 \(of 0\), got \[\]"),
    ([server("a", 0), server("b", 1)], {}, "expected host_ip, or an address as server_id, of the server that has rank 0, got 'a'"),
    ([{"server_id": "a"}], {}, "expected a JSON object with status and server_list, .* KeyError"),
    ([], {"server_list": 3}, "expected a JSON object with status and server_list, .* TypeError"),
])  # fmt: skip
def test_wrong_tables_are_refused(servers: list[dict], changes: dict, message: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=message):
        rank_table.read(str(table(tmp_path, *servers, **changes)))


@pytest.mark.parametrize("port", ["0", "65536", "x", "-1"])
def test_wrong_ports_are_refused(port: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(rank_table.PORT_VARIABLE, port)
    with pytest.raises(ValueError, match=f"HCCL_IF_BASE_PORT: expected a port from 1 to 65535, got '{port}'"):
        rank_table.read(str(table(tmp_path, server("a", 0))))


def test_what_is_no_file_or_no_json_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        rank_table.read(str(tmp_path / "none"))
    (tmp_path / "text").write_text("no table")
    with pytest.raises(ValueError, match=r"got .*text: JSONDecodeError"):
        rank_table.read(str(tmp_path / "text"))


def test_root_info_of_a_process_that_has_ended_is_refused_at_once() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    message = f"nothing listens on 127.0.0.1, port {port}: the process that made the root info has ended"
    with pytest.raises(RuntimeError, match=f"{message}.*TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1"):
        connect(f"127.0.0.1 {port} key", "name", rank=1, size=2, connect_timeout=3600, timeout=3600)
