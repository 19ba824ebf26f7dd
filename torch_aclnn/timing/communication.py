"""How long an operation between ranks takes, by its bytes, its group and the links."""

from collections.abc import Sequence

from torch_aclnn.timing.chip import Chip
from torch_aclnn.timing.launches import MESSAGES

# The collective whose bytes cross the links twice; the bytes of other collectives cross them once.
_TWICE = "AllReduce"


def seconds(name: str, size: float, ranks: Sequence[int], chip: Chip) -> float:
    """Return the time of an operation of this name.

    Args:
        name: of the function, as ``HcclAllReduce``.
        size: the larger of the bytes that it reads and writes of a rank's memory.
        ranks: the numbers in the world of the ranks of its group.
        chip: whose links.

    """
    latency = chip["microseconds.collective"] * 1e-6
    count, per_node = len(ranks), chip["ranks_of_a_node"]
    nodes = len({rank // per_node for rank in ranks})
    if count < 2:
        return latency
    times = 2.0 if _TWICE in name else 1.0
    local = max(count // nodes, 1)
    across = size / (chip["node_link_gb_s"] * 1e9 * chip["efficiency.node_link"])
    if name in MESSAGES:
        return latency + (across if nodes > 1 else _within(size, 2, chip))
    shared = 1 if "AlltoAll" in name else local  # data for all ranks of a node crosses between nodes once
    between = across / shared * (nodes - 1) / nodes
    return latency + times * (between + _within(size, local, chip) * (local - 1) / local)


def _within(size: float, count: int, chip: Chip) -> float:
    """Return the seconds for these bytes among so many ranks of a node."""
    if count < 2:
        return 0.0
    others = chip["ranks_of_a_node"] - 1
    part = min(count - 1, others) / others if chip["links"] == "mesh" else 1.0
    return float(size / (chip["link_gb_s"] * part * 1e9 * chip["efficiency.link"]))
