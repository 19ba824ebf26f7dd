"""Run the operator tests of a checkout of op-plugin on the engine.

python -m tests.op_plugin CHECKOUT

Each file runs in a process of its own. Exit code 1 if a file of passed.txt does not pass.
"""

import argparse
import os
import signal
import sys
from collections import Counter
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path

from .causes import cause
from .lists import Lists, figures
from .records import Record, read_record
from .run import Runner

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "build" / "op_plugin"


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser("python -m tests.op_plugin", None, __doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", type=Path, help="directory of a checkout of op-plugin, for the version of torch that is installed")
    parser.add_argument("--files", nargs="+", metavar="FILE", help="only these, such as test_base_ops/test_abs.py")
    parser.add_argument("--resume", action="store_true", help="leave out the files that an interrupted run has finished")
    parser.add_argument("--update", action="store_true", help="add to passed.txt, and write causes.tsv and figures.tsv anew")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="processes at a time (default: %(default)s)")
    parser.add_argument("--timeout", type=float, default=120, metavar="S", help="seconds for a file (default: %(default)s)")
    parser.add_argument("--memory", type=float, default=8, metavar="GB", help="memory of a process (default: %(default)s)")
    parser.add_argument("--results", type=Path, default=RESULTS, metavar="DIR", help="records and logs (default: build/op_plugin)")
    return parser.parse_args()


def test_files(directory: Path) -> list[str]:
    """Return the files for the installed version of torch: those for every version, and those for this one."""
    major, minor = version("torch").split(".")[:2]
    folders = ("core_tests", "test_base_ops", "test_custom_ops", f"test_v{major}r{minor}_ops")
    return [str(path.relative_to(directory)) for folder in folders for path in sorted((directory / folder).glob("**/test_*.py"))]


def table_of_causes(records: Iterable[Record]) -> str:
    failures = [failure for record in records for failure in record.failures().values()]
    counted = Counter(cause(failure.message) for failure in failures)
    return "\n".join(f"{count:6}  {text}" for text, count in counted.most_common())


def main() -> int:
    options = arguments()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)  # also where a shell in the background has them ignored
    directory = options.checkout.resolve() / "test"
    if not directory.is_dir():
        raise SystemExit(f"{options.checkout}: expected a checkout of op-plugin, which has a directory test/")
    files = options.files or test_files(directory)
    os.environ.setdefault("OMP_NUM_THREADS", str(max(1, (os.cpu_count() or 1) // options.jobs)))
    runner = Runner(directory, options.results.resolve(), options.jobs, options.timeout, int(options.memory * 2**30))
    records = {file: read_record(runner.record_of(file)) for file in files} if options.resume else {}
    records = {file: record for file, record in records.items() if record.finished}
    left = [file for file in files if file not in records]
    for count, (file, record) in enumerate(runner.run(left), 1):
        records[file] = record
        outcomes = ", ".join(f"{number} {outcome}" for outcome, number in sorted(record.counts().items()))
        print(f"[{count}/{len(left)}] {file}: {outcomes or 'no tests'}", flush=True)
    print(f"\n{table_of_causes(records.values())}\n")
    print("\n".join(f"{name}: {number}" for name, number in figures(records).items()))
    lists = Lists(Path(__file__).parent)
    lost = lists.lost(records)
    if options.update:
        lists.update(records)
        lists.write()
        if options.files is None:
            lists.write_figures(records)
    for file in lost:
        print(f"{file} is in passed.txt and does not pass", file=sys.stderr)
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())
