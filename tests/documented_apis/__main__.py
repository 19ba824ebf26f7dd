"""Compare what runs with torch_npu's list of torch's APIs and their data types, on each product that it names.

python -m tests.documented_apis CHECKOUT

Each API that PyTorch has samples for is called with each data type that the CPU takes. Exit code 1 if docs/documented_apis.tsv differs.
"""

import argparse
import csv
import json
import os
import subprocess
import sys
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

from .table import FIGURES, TABLE, differences, figures, read, rows, write

TESTS = Path(__file__).parents[1]
CHIPS = {"A2": "Ascend910B3", "A3": "Ascend910_9391", "950": "Ascend950PR_9599"}


def trials(checkout: Path, product: str) -> list[dict[str, Any]]:
    path = os.pathsep.join([str(TESTS), str(TESTS.parent), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = {**os.environ, "PYTHONPATH": path, "TORCH_ACLNN_HOST_SOC": CHIPS[product], "TORCH_NPU_FALLBACK_CPU_DISABLE": "1"}
    command = [sys.executable, "-m", "documented_apis.trial", str(checkout), product]
    with NamedTemporaryFile(suffix=".jsonl") as trace:
        environment["TORCH_ACLNN_HOST_TRACE"] = trace.name
        printed = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True).stdout
    return [json.loads(line) for line in printed.splitlines()]


def main() -> int:
    parser = argparse.ArgumentParser("python -m tests.documented_apis", None, __doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", type=Path, help="a work tree or bare repository of torch_npu that has the list for the installed torch")
    parser.add_argument("--update", action="store_true", help="write docs/documented_apis.tsv and figures.tsv anew")
    options = parser.parse_args()
    found = {product: trials(options.checkout.resolve(), product) for product in CHIPS}
    table, counted = rows(found), figures(found)
    changes = list(differences(table, read(TABLE)))
    print("\n".join(changes))
    writer = csv.DictWriter(FIGURES.open("w") if options.update else sys.stdout, list(counted[0]), delimiter="\t", lineterminator="\n")
    writer.writeheader()
    writer.writerows(counted)
    if options.update:
        write(TABLE, table)
        return 0
    return int(bool(changes))


if __name__ == "__main__":
    sys.exit(main())
