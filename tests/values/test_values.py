"""Drawn calls have the values of their definitions, with one drawing of each entry point at least."""

import pytest

from values.run import Calls

ENTRY_POINTS = 680


def compared(seed, numbers):
    """Return the calls, once none of these numbers differs from its definition."""
    calls = Calls(seed)
    assert [differing for number in numbers for differing in calls.make(number)] == []
    return calls


def test_one_drawing_of_each():
    calls = compared(20, range(ENTRY_POINTS))
    assert len(calls.entry_points) >= ENTRY_POINTS
    assert len(calls.made) > 0.96 * ENTRY_POINTS, calls.refused  # a drawing may have no call that is taken


@pytest.mark.slow
@pytest.mark.parametrize("seed", [21, 22])
def test_many_drawings(seed):
    calls = compared(seed, range(2 * ENTRY_POINTS))
    assert len(calls.made) > 0.99 * len(calls.entry_points), calls.refused
