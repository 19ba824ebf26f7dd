"""How many processes DeepSpeed's launcher would start on each host, of what its parser and its reader of hostfiles return."""

from types import SimpleNamespace
from typing import Any

import pytest
from torch_aclnn.loading.launchers import _hosts

TWO = {"a": 4, "b": 4}


def hosts(pool: dict[str, int] | None, **options: Any) -> list[int]:
    def chosen(pool: dict[str, int], include: str, exclude: str) -> dict[str, list[int]]:
        slots = {host: [int(slot) for slot in named.split(",")] for host, _, named in [include.partition(":")] if named}
        return slots or {host: list(range(count)) for host, count in pool.items() if host != exclude}

    runner = SimpleNamespace(fetch_hostfile=lambda path: pool, parse_inclusion_exclusion=chosen)
    defaults = {"hostfile": "", "include": "", "exclude": "", "num_gpus": -1, "num_nodes": -1}
    return _hosts(runner, SimpleNamespace(**defaults | options))


@pytest.mark.parametrize(
    ("pool", "options", "expected"),
    [
        (None, {}, [1]),
        (None, {"num_gpus": 8, "num_nodes": 2}, [8, 8]),
        (None, {"include": "localhost:0,2"}, [2]),
        (TWO, {}, [4, 4]),
        (TWO, {"include": "b:0,1,3"}, [3]),
        (TWO, {"exclude": "a"}, [4]),
        (TWO, {"num_gpus": 2, "num_nodes": 1}, [2]),
    ],
)
def test_hosts(pool, options, expected):
    assert hosts(pool, **options) == expected


@pytest.mark.parametrize(
    ("pool", "options", "message"),
    [
        (None, {"include": "localhost"}, "expected slots as in localhost:0,1"),
        (None, {"exclude": "localhost:1"}, "expected slots as in localhost:0,1"),
        ({"a": 4, "b": 3}, {}, "the same number of processes on each host, got 4, 3"),
    ],
)
def test_what_is_not_known_is_refused(pool, options, message):
    with pytest.raises(SystemExit, match=message):
        hosts(pool, **options)
