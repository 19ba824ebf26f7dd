"""Run the fast tests and the digits example with the installed versions, and record the outcome in docs/versions/.

python -m tests.versions
"""

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from .outcomes import corrected, entry_points, example, platform, tests

ROOT = Path(__file__).resolve().parents[2]
RECORDS = ROOT / "docs" / "versions"


def main() -> int:
    parser = argparse.ArgumentParser("python -m tests.versions", None, __doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--smoke", action="store_true", help="only the tests of the operators, and no record")
    parser.add_argument(
        "--last-failed", action="store_true", help="only the tests that failed last time, whose outcome the record takes over"
    )
    options = parser.parse_args()
    record: dict[str, Any] = {**platform()}
    minor, python = (".".join(record[name].split(".")[:2]) for name in ("torch_npu", "python"))
    file = RECORDS / f"{minor}-{python}-{record['machine']}.json"
    with tempfile.TemporaryDirectory() as directory:
        report = Path(directory) / "report.xml"
        if options.last_failed:
            again = tests(ROOT, report, "--last-failed", "--last-failed-no-failures=none", smoke=False)
            record["tests"] = corrected(json.loads(file.read_text())["tests"], again)
        else:
            record["tests"] = tests(ROOT, report, smoke=options.smoke)
    record |= {"digits": example(ROOT), "entry_points": entry_points()}
    print(json.dumps(record, indent=1))
    if not options.smoke:
        RECORDS.mkdir(exist_ok=True)
        file.write_text(json.dumps(record, indent=1) + "\n")
    return 0 if record["tests"]["passed"] and not record["tests"]["failed"] and record["digits"] is not None else 1


if __name__ == "__main__":
    sys.exit(main())
