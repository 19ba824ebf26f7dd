"""Making the calls of a seed."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from random import Random

import torch_aclnn  # noqa: F401  (its libraries)
import torch
from hostile_calls.call import ENTRY_POINTS, Call
from torch_aclnn.host.registry import EntryPoint
from torch_aclnn.loading.paths import libdir

from support.client import Client

from .computed import Device, Unsupported, difference
from .definitions import definition
from .drawn import drawn, fit

DRAWS, FITS, CONTENTS = 8, 6, 4  # to find a call that is taken, to fit its shapes, and with other numbers


class Calls:
    """Calls of the entry points in turn, with their counts and the reasons for those that are not compared."""

    def __init__(self, seed: int, only: str = "") -> None:
        self._client, self._seed = Client(libdir()), seed
        self._client.acl.ok("aclrtSetDevice", 0)
        self._device = Device(self._client)
        self.entry_points = [e for e in ENTRY_POINTS if definition(e.name) is not None and re.search(only, e.name)]
        self.made: Counter[str] = Counter()
        self.refused: dict[str, Counter[str]] = defaultdict(Counter)

    def make(self, number: int) -> list[tuple[str, str]]:
        """Make the calls of a number; return the entry point and the call of each whose result differs from the definition."""
        before = torch.get_default_dtype()
        torch.set_default_dtype(torch.float64)
        try:
            return list(self._make(number))
        finally:
            torch.set_default_dtype(before)

    def _make(self, number: int) -> Iterator[tuple[str, str]]:
        drawing, place = divmod(number, len(self.entry_points))
        entry_point = self.entry_points[place]
        rng = Random(f"{self._seed}:{entry_point}:{drawing}")  # another entry point changes no drawing of this one
        call = next((call for call in (drawn(entry_point, rng) for _ in range(DRAWS)) if self._is_taken(call)), None)
        for _ in range(CONTENTS if call else 0):
            refused, wrong = difference(self._device, rng)
            self.made[entry_point.name] += not refused
            if refused:
                self._note(entry_point, refused)
            if wrong:
                yield entry_point.name, f"{call}\n    {wrong}"
        if call:
            self._device.end()

    def _note(self, entry_point: EntryPoint, reason: str) -> None:
        self.refused[entry_point.name][re.sub(r"[\d\[\]., -]+", " ", reason)[:200]] += 1

    def _is_taken(self, call: Call) -> bool:
        for _ in range(FITS):
            try:
                self._device.begin(call)
                message = self._device.answer()
            except Unsupported as error:
                message = str(error)
            if not message:
                return True
            self._device.end()
            if not fit(call, message):
                break
        self._note(call.entry_point, message)
        return False
