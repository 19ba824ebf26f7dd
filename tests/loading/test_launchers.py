"""How many processes DeepSpeed's launcher would start on each host."""

from types import SimpleNamespace

import pytest
from torch_aclnn.loading.launchers import _hosts


def parse_inclusion_exclusion(pool, include, exclude):
    host, _, slots = include.partition(":")
    return {host: slots.split(",")} if slots else {host: range(count) for host, count in pool.items() if host != exclude}


@pytest.mark.parametrize(
    ("pool", "options", "expected"),
    [
        (None, {}, [1]),
        (None, {"num_gpus": 8, "num_nodes": 2}, [8, 8]),
        (None, {"include": "localhost:0,2"}, [2]),
        (None, {"include": "localhost"}, "expected slots as in localhost:0,1"),
        (None, {"exclude": "localhost:1"}, "expected slots as in localhost:0,1"),
        ({"a": 4, "b": 4}, {}, [4, 4]),
        ({"a": 4, "b": 4}, {"include": "b:0,1,3"}, [3]),
        ({"a": 4, "b": 4}, {"exclude": "a"}, [4]),
        ({"a": 4, "b": 4}, {"num_gpus": 2, "num_nodes": 1}, [2]),
        ({"a": 4, "b": 3}, {}, "the same number of processes on each host, got 4, 3"),
    ],
)
def test_hosts(pool, options, expected, capsys):
    runner = SimpleNamespace(fetch_hostfile=lambda path: pool, parse_inclusion_exclusion=parse_inclusion_exclusion)
    given = SimpleNamespace(**{"hostfile": "", "include": "", "exclude": "", "num_gpus": -1, "num_nodes": -1, **options})
    if isinstance(expected, list):
        assert _hosts(runner, given) == expected
    else:
        with pytest.raises(SystemExit, match=r"^2$"):
            _hosts(runner, given)
        assert expected in capsys.readouterr().err
