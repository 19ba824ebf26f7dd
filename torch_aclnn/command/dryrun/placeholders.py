"""Placeholders of a program's arguments, as ``{batch}``, and the search for the largest value that fits."""

import argparse
import re
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Placeholder:
    """A name and its values, the smallest first; few of them are tried if it is the second of two."""

    name: str
    values: Sequence[int]

    def few(self) -> list[int]:
        """Return all values of a list; for a range the first, its doubles, and the last."""
        if not isinstance(self.values, range):
            return list(self.values)
        found, last = [self.values[0]], self.values[-1]
        while found[-1] < last:
            found.append(min(2 * found[-1], last))
        return found


def placeholder(text: str) -> Placeholder:
    """Parse an argument ``NAME=LOW:HIGH`` or ``NAME=A,B,C``."""
    found = re.fullmatch(r"(\w+)=(?:(\d+):(\d+)|(\d+(?:,\d+)*))", text)
    if found is not None and found[4]:
        return Placeholder(found[1], sorted({int(value) for value in found[4].split(",")}))
    if found is not None and 0 < int(found[2]) <= int(found[3]):
        return Placeholder(found[1], range(int(found[2]), int(found[3]) + 1))
    raise argparse.ArgumentTypeError(f"expected a name with numbers from 1 on, as batch=1:64 or length=1024,2048, got {text}")


def filled(program: Sequence[str], values: Mapping[str, int]) -> list[str]:
    """Return the program with the values in place of the placeholders."""
    return [re.sub(r"\{(\w+)\}", lambda found: str(values.get(found[1], found[0])), word) for word in program]


def largest(values: Sequence[int], needed: Callable[[int], int | None], total: int) -> int | None:
    """Return the largest value that fits, or None: by a line through what the last two that fit needed, and by bisection.

    Args:
        values: in order; where one fits, those before it do.
        needed: returns the bytes that a value needs, or None if it does not fit.
        total: how many bytes there are.

    """
    fits, too_large, position = -1, len(values), 0
    points: list[tuple[int, int]] = []
    while too_large - fits > 1:
        found = needed(values[position])
        if found is None:
            too_large = position
        else:
            fits = position
            points = [*points[-1:], (values[position], found)]
        position = _position(values, points, total)
        if found is None and position >= too_large:  # the line has missed
            position = (fits + 3 * too_large) // 4
        position = min(max(position, fits + 1), too_large - 1)
    return values[fits] if fits >= 0 else None


def _position(values: Sequence[int], points: Sequence[tuple[int, int]], total: int) -> int:
    """Return the position behind the values that a line through two points lets fit; after one point, behind four times its value."""
    if not points:
        return 0
    (first, before), (last, after) = points[0], points[-1]
    slope = (after - before) / (last - first) if last > first else 0.0
    reach = last + (total - after) / slope if slope > 0 else 4 * last
    return bisect_right(values, min(reach, values[-1])) - 1
