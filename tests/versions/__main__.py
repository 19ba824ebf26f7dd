"""Run the fast tests and the digits example with the installed versions, and record the outcome in docs/versions.tsv.

python -m tests.versions
python -m tests.versions --smoke  # instead of the fast tests what a user does first (smoke.py)
"""

import argparse
import datetime
import sys
import tempfile
from pathlib import Path

from ..support.scripts import DOCS, load
from .outcomes import corrected, entry_points, example, platform, tests
from .smoke import smoke

ROOT = DOCS.parent


def main() -> int:
    parser = argparse.ArgumentParser("python -m tests.versions", None, __doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    less = parser.add_mutually_exclusive_group()
    less.add_argument("--smoke", action="store_true", help="only what a user does first, in each mode of torch_npu's queue")
    less.add_argument(
        "--last-failed", action="store_true", help="only the tests that failed last time, whose outcome the record takes over"
    )
    options = parser.parse_args()
    versions = load(DOCS / "generate_versions.py")
    run = {**platform(), "run": "smoke" if options.smoke else "full", "date": datetime.date.today()}
    with tempfile.TemporaryDirectory() as directory:
        report = Path(directory) / "report.xml"
        if options.last_failed:
            before = next(other for other in versions.read_runs() if versions.kind(other) == versions.kind(run))
            outcome = corrected(before, tests(ROOT, report, "--last-failed", "--last-failed-no-failures=none"))
        else:
            outcome = (smoke if options.smoke else tests)(ROOT, report)
    accuracy = example(ROOT)
    run |= {**outcome, "failed": len(outcome["failed"]), "digits": accuracy, **entry_points()}
    print(run, *outcome["failed"], sep="\n")
    versions.write_run(run)
    return 0 if outcome["passed"] and not outcome["failed"] and accuracy is not None else 1


if __name__ == "__main__":
    sys.exit(main())
