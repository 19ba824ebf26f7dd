"""Run the tests in each configuration of product and queue mode, where the engine gives nothing that the documents do not promise.

python -m tests.modes                  # all configurations; each takes minutes
python -m tests.modes Ascend310P3/1    # one of them
python -m tests.modes --update         # write the numbers of what is skipped now into skipped.tsv, which only ever fall

A test that fails, and a reason that skips more tests than skipped.tsv has for it, end the run with 1.
"""

import argparse
import csv
import os
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).parents[2]
SKIPPED = Path(__file__).with_name("skipped.tsv")
# The product, as TORCH_ACLNN_HOST_SOC names it, and TASK_QUEUE_ENABLE.
CONFIGURATIONS = ("Ascend910B3/0", "Ascend910B3/1", "Ascend910B3/2", "Ascend910_9391/2", "Ascend310P3/1")


def outcomes(configuration: str) -> tuple[Counter[str], Counter[str]]:
    """Return the number of tests that passed and failed, and of those that were skipped, by reason."""
    soc, queue = configuration.split("/")
    settings = {"TORCH_ACLNN_HOST_MODE": "unspecified", "TORCH_ACLNN_HOST_SOC": soc, "TASK_QUEUE_ENABLE": queue}
    with tempfile.TemporaryDirectory() as directory:
        report = Path(directory, "report.xml")
        command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-q", "-n", "2", "--maxfail=100", f"--junitxml={report}"]
        subprocess.run(command, cwd=ROOT, env=os.environ | settings, check=False)
        return read(report)


def read(report: Path) -> tuple[Counter[str], Counter[str]]:
    """Return the same from a report in JUnit's form."""
    ended, skipped = Counter[str](), Counter[str]()
    for case in ElementTree.parse(report).iter("testcase"):
        skip = case.find("skipped")
        if skip is not None:
            skipped[skip.get("message", "").replace("\n", " ")] += 1
        else:
            ended["passed" if case.find("failure") is None and case.find("error") is None else "failed"] += 1
    return ended, skipped


def recorded() -> dict[tuple[str, str], int]:
    with SKIPPED.open() as file:
        rows = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        return {(configuration, row["reason"]): int(row["tests"]) for row in rows for configuration in row["configurations"].split()}


def record(numbers: dict[tuple[str, str], int]) -> None:
    alike = defaultdict(list)
    for (configuration, reason), tests in sorted(numbers.items()):
        alike[reason, tests].append(configuration)
    rows = [f"{reason}\t{tests}\t{' '.join(configurations)}\n" for (reason, tests), configurations in sorted(alike.items())]
    SKIPPED.write_text("".join(["reason\ttests\tconfigurations\n", *rows]))


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.modes", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("configurations", nargs="*", default=CONFIGURATIONS, help="product/queue mode; all by default")
    parser.add_argument("--update", action="store_true", help="write what is skipped now into skipped.tsv")
    arguments = parser.parse_args()
    numbers, lines, is_good = recorded(), [], True
    for configuration in arguments.configurations:
        ended, skipped = outcomes(configuration)
        more = {reason for reason, tests in skipped.items() if tests > numbers.get((configuration, reason), 0)}
        is_good = is_good and ended["passed"] > 0 and not ended["failed"] and not more
        lines.append(f"{configuration}: {ended['passed']} passed, {ended['failed']} failed, {skipped.total()} skipped")
        lines += [f"  {tests:5} {'more than recorded: ' if reason in more else ''}{reason}" for reason, tests in skipped.most_common()]
        if arguments.update:
            numbers = {key: tests for key, tests in numbers.items() if key[0] != configuration}
            numbers.update({(configuration, reason): tests for reason, tests in skipped.items()})
    print("\n".join(lines))
    if arguments.update:
        record(numbers)
    return 0 if is_good or arguments.update else 1


if __name__ == "__main__":
    sys.exit(main())
