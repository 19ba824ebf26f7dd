"""What a user does first, in each mode of torch_npu's queue."""

from pathlib import Path
from typing import Any

from .outcomes import OLDER_NAMES, run_pytest

FILES = (
    *(
        "tests/loading/test_loading.py",
        "tests/loading/test_versions.py",
        "tests/repository/test_readme.py::test_the_session_prints_what_the_readme_shows",
    ),
    *("tests/planes/test_linear.py", "tests/operators/test_batch_norm_elemt.py", "tests/host/test_executor_cache_modes.py"),
    *("tests/distributed/test_two_ranks.py", OLDER_NAMES),
    "tests/models/test_dry_run.py::test_six_networks_allocate_and_call_what_they_do_when_they_compute",
)
# The check goes through the modes by itself.
CHECK = "tests/check/test_check.py::test_a_quick_check_passes"
RUNS = {"0": FILES, "1": (*FILES, CHECK), "2": FILES}


def smoke(root: Path, report: Path) -> dict[str, Any]:
    """Return the outcome of the tests in all modes."""
    outcomes = {
        mode: run_pytest(root, report.with_suffix(f".mode{mode}.xml"), *files, TASK_QUEUE_ENABLE=mode) for mode, files in RUNS.items()
    }
    counts = {name: sum(outcome[name] for outcome in outcomes.values()) for name in ("passed", "skipped")}
    failed = [f"{name}, mode {mode}" for mode, outcome in outcomes.items() for name in outcome["failed"]]
    return {**counts, "failed": failed, "shortcomings": outcomes["1"]["shortcomings"]}
