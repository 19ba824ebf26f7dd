"""ATen's operators as peers."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from torch import Tensor
from torch._ops import OpOverloadPacket


def into(packet: OpOverloadPacket, out: Tensor, *arguments: Any) -> Callable[[], Tensor]:
    """Return a call that writes into `out`, by the overload that has the name of its parameter: out or grad_input."""
    name = "grad_input" if "grad_input" in packet.overloads() else "out"
    return partial(getattr(packet, name), *arguments, **{name: out})


@dataclass(frozen=True)
class Peer:
    """Another way to compute the gradient, as a call and as a call that writes into a tensor; the name of ATen's operator is empty."""

    name: str
    call: Callable[[], Tensor]
    into: Callable[[Tensor], Callable[[], Any]]


def packet_peer(name: str, packet: OpOverloadPacket, *arguments: Any) -> Peer:
    """Return an operator of ATen as a peer."""
    return Peer(name, partial(packet.default, *arguments), lambda out: into(packet, out, *arguments))
