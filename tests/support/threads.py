"""Doing one thing on several threads at once."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor


def on_threads(count: int, work: Callable[[], object]) -> None:
    """Do the work on `count` threads, and raise an exception that one of them raised."""
    with ThreadPoolExecutor(count) as pool:
        for running in [pool.submit(work) for _ in range(count)]:
            running.result()
