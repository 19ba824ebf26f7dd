"""The helper that runs a function in several processes reports each that fails, and waits for none for ever."""

import time

import pytest

from support.rank_calls import call_in_ranks, values_of

pytestmark = pytest.mark.slow


def test_returns_what_each_process_returned():
    assert values_of(call_in_ranks("torch.distributed:get_world_size", 2)) == [2, 2]


def test_an_exception_is_reported_with_its_traceback():
    with pytest.raises(AssertionError, match=r"(?s)rank 0: Traceback.*ValueError: invalid literal.*rank 1: Traceback"):
        values_of(call_in_ranks("builtins:int", 2, "x"))


def test_a_process_that_dies_is_reported_with_its_status():
    (outcome,) = call_in_ranks("os:_exit", 1, 3)
    assert outcome.failure.startswith("ended with status 3\n")


def test_a_process_that_does_not_end_is_killed():
    start = time.monotonic()
    (outcome,) = call_in_ranks("time:sleep", 1, 1000, seconds=20)
    assert outcome.failure.startswith("did not end in time") and time.monotonic() - start < 60
