"""Processes that several threads start and wait for: each thread gets the exit code of its own."""

import os
import time
from concurrent.futures import ThreadPoolExecutor

from client_suites.processes import Processes


def test_threads_do_not_take_each_others_exit_codes():
    processes = Processes()
    with ThreadPoolExecutor(2) as pool:
        codes = list(pool.map(lambda _: processes.run(os._exit, (3,)), range(400)))
    assert codes == [3] * 400


def test_a_signal_that_ends_a_process_is_its_exit_code():
    assert Processes().run(os.abort, ()) == -6


def test_a_process_is_ended_after_its_time():
    start = time.monotonic()
    assert Processes().run(time.sleep, (1000,), timeout=0.2) is None
    assert time.monotonic() - start < 100


def test_end_ends_what_runs():
    processes = Processes()
    with ThreadPoolExecutor(1) as pool:
        code = pool.submit(processes.run, time.sleep, (1000,))
        while not code.done() and not processes._running:
            time.sleep(0.01)
        processes.end()
        assert code.result(100) == -9
