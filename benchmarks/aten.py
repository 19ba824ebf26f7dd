"""ATen's operators as peers."""

from collections.abc import Callable
from functools import partial
from typing import Any

from torch import Tensor
from torch._ops import OpOverloadPacket


def into(packet: OpOverloadPacket, out: Tensor, *arguments: Any) -> Callable[[], Tensor]:
    """Return a call that writes into `out`, by the overload for that, which has the name of its parameter: out or grad_input."""
    name = "grad_input" if "grad_input" in packet.overloads() else "out"
    return partial(getattr(packet, name), *arguments, **{name: out})
