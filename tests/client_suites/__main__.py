"""Run the tests of a checkout of op-plugin or torch_npu on the engine.

python -m tests.client_suites op_plugin CHECKOUT

Each file runs in a process of its own. Exit code 1 if a test fails that causes.tsv does not list.
"""

import argparse
import os
import signal
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from .causes import cause
from .lists import Lists, figures
from .records import Record, read_record
from .run import Runner
from .suites import SUITES

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "build" / "client_suites"


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser("python -m tests.client_suites", None, __doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suite", choices=SUITES)
    parser.add_argument("checkout", type=Path, help="directory of a checkout that fits the version of torch that is installed")
    parser.add_argument("--files", nargs="+", metavar="FILE", help="only these, such as test_base_ops/test_abs.py")
    parser.add_argument("--resume", action="store_true", help="leave out the files that an interrupted run has finished")
    parser.add_argument("--update", action="store_true", help="add to passed.txt, and write causes.tsv and figures.tsv anew")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="processes at a time (default: %(default)s)")
    parser.add_argument("--timeout", type=float, default=120, metavar="S", help="seconds for a file (default: %(default)s)")
    parser.add_argument("--memory", type=float, default=8, metavar="GB", help="memory of a process (default: %(default)s)")
    parser.add_argument("--results", type=Path, metavar="DIR", help="records and logs (default: build/client_suites/SUITE)")
    return parser.parse_args()


def table_of_causes(records: Iterable[Record]) -> str:
    failures = [failure for record in records for failure in record.failures().values()]
    counted = Counter(cause(failure.message) for failure in failures)
    return "\n".join(f"{count:6}  {text}" for text, count in counted.most_common())


def main() -> int:
    options = arguments()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)  # a shell in the background has these signals ignored
    directory = options.checkout.resolve() / "test"
    if not directory.is_dir():
        raise SystemExit(f"{options.checkout}: expected a checkout with a directory test/")
    suite = SUITES[options.suite]
    files = options.files or suite.files(directory)
    os.environ.update(suite.settings(directory))
    os.environ.pop("TORCH_DEVICE_BACKEND_AUTOLOAD", None)  # tests start programs that expect torch to load torch_npu
    os.environ.setdefault("OMP_NUM_THREADS", str(max(1, (os.cpu_count() or 1) // options.jobs)))
    results = options.results or RESULTS / options.suite
    runner = Runner(directory, results.resolve(), options.jobs, options.timeout, int(options.memory * 2**30))
    records = {file: read_record(runner.record_of(file)) for file in files} if options.resume else {}
    records = {file: record for file, record in records.items() if record.finished}
    left = [file for file in files if file not in records]
    for count, (file, record) in enumerate(runner.run(left), 1):
        records[file] = record
        outcomes = ", ".join(f"{number} {outcome}" for outcome, number in sorted(record.counts().items()))
        print(f"[{count}/{len(left)}] {file}: {outcomes or 'no tests'}", flush=True)
    print(f"\n{table_of_causes(records.values())}\n")
    print("\n".join(f"{name}: {number}" for name, number in figures(records).items()))
    lists = Lists(Path(__file__).parent / options.suite)
    if options.update:
        lists.update(records)
        lists.write()
        if options.files is None:
            lists.write_figures(records)
    lost = lists.lost(records)
    for test in lost:
        print(f"not in the lists: {test}", file=sys.stderr)
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())
