"""Programs in copies of a process that has imported torch end as in processes of their own, and side by side."""

import signal
from concurrent.futures import ThreadPoolExecutor

from support.subprocesses import fork_server, run_python

# Never reached; a program that imports the package itself may find torch imported.
IMPORT = "\nimport torch_aclnn"


def ended(code: str):
    done = run_python(code + IMPORT)
    return done.returncode, done.stdout.strip(), done.stderr.strip().splitlines()[-1:]


def test_a_program_ends_as_in_a_process_of_its_own():
    assert fork_server().can_run(run_python(IMPORT.strip()).args, fork_server().environment)
    assert ended("import sys; print(__name__, sys.argv, 'torch' in sys.modules, 'torch' in globals()); sys.exit(3)") == (
        *(3, "__main__ ['-c'] True False"),
        [],
    )
    assert ended("raise ValueError('no number')") == (1, "", ["ValueError: no number"])
    assert ended("import os, signal; os.kill(os.getpid(), signal.SIGKILL)") == (-signal.SIGKILL, "", [])
    assert ended("import atexit; atexit.register(print, 'at the end'); raise SystemExit") == (0, "at the end", [])


def test_threads_run_programs_side_by_side():
    with ThreadPoolExecutor(8) as threads:
        found = list(
            threads.map(lambda number: ended(f"import sys, time; time.sleep(0.05); print({number}); sys.exit({number})"), range(24))
        )
    assert found == [(number, str(number), []) for number in range(24)]
