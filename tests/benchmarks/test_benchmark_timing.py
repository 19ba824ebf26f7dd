"""How the benchmarks measure: what is measured twice. No clock is read."""

import torch_aclnn  # noqa: F401
import pytest

from benchmarks import timing


@pytest.mark.parametrize(
    ("first", "expected", "measured"),
    [
        ([1.0, 1.2, 9.0], [7.0, 8.0, 9.0], [5, 15]),
        ([1.2, 1.0, 9.0], [7.0, 8.0, 9.0], [5, 15]),
        ([1.0, 9.0, 1.2], [7.0, 8.0, 9.0], [5, 15]),
        ([1.0, 1.3, 9.0], [1.0, 1.3, 9.0], [5]),
        ([9.0, 1.0, 9.0], [7.0, 8.0, 9.0], [5, 15]),
    ],
    ids=["ahead", "behind", "of the second peer", "far ahead", "far behind"],
)
def test_all_are_measured_again_for_longer_unless_the_first_is_far_ahead(monkeypatch, first, expected, measured):
    asked, answers = [], [first, [7.0, 8.0, 9.0]]
    monkeypatch.setattr(timing, "batch_size", lambda call: 1)

    def alternate(calls, counts, rounds):
        asked.append(rounds)
        return answers[len(asked) - 1]

    monkeypatch.setattr(timing, "alternate", alternate)
    assert timing.compare([lambda: None] * 3, 5) == expected
    assert asked == measured
