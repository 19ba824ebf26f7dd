"""Tensors of the C interface that each have memory of their own, between guards."""

from typing import Any

from arguments import Handles

from support.client import Client
from support.dtypes import size_of
from support.tensors import Tensor

GUARDS = 64  # bytes before and behind a tensor


class Guarded(Handles):
    """Handles of tensors whose elements are full of one value, and whose guards and gaps are full of a byte."""

    def __init__(self, client: Client, full_of: dict[Tensor, bytes], guard: bytes = b"\xa5") -> None:
        super().__init__(client, 0)
        self._full_of, self._guard = full_of, guard
        self._blocks: list[tuple[Tensor, int, bytes]] = []

    def make(self, value: Any) -> Any:
        if not isinstance(value, Tensor):
            return super().make(value)
        memory = self._memory(value, self._full_of.get(value, bytes(size_of(value.dtype))))
        block = self._client.allocate(len(memory))
        self._client.acl.write(block, memory)
        self._blocks.append((value, block, memory))
        storage = value.storage or (len(memory) // size_of(value.dtype),)
        return self._client.tensor(value, storage, block + GUARDS)

    def elements(self, value: Tensor) -> list[bytes]:
        """Return what a tensor's elements are now."""
        return next(self._elements(*block) for block in self._blocks if block[0] == value)

    def is_whole(self) -> bool:
        """Free the memory, and return whether guards and gaps are as they were."""
        kept = True
        for value, block, memory in self._blocks:
            found = dict(zip(value.positions(), self._elements(value, block, memory), strict=True))
            kept = kept and self._client.acl.read(block, len(memory)) == self._memory(value, found)
            self._client.free(block)
        return kept

    def _elements(self, value: Tensor, block: int, memory: bytes) -> list[bytes]:
        size, found = size_of(value.dtype), self._client.acl.read(block, len(memory))
        return [found[GUARDS + size * i :][:size] for i in value.positions()]

    def _memory(self, value: Tensor, content: bytes | dict[int, bytes]) -> bytes:
        size, positions = size_of(value.dtype), value.positions()
        elements = bytearray(self._guard * size * (max(positions, default=-1) + 1))
        for i in positions:
            elements[size * i : size * (i + 1)] = content if isinstance(content, bytes) else content[i]
        return self._guard * GUARDS + bytes(elements) + self._guard * GUARDS
