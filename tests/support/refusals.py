"""What a product, strict mode or a mode of the queue does not offer, so that a test that asks for it is skipped and not failed."""

import csv
import os
import re
from pathlib import Path

from torch_aclnn.check import listed

from support.entry_point import GENERATIONS
from support.marks import STRICT

# Each row is a refusal, as a regular expression, with where it is allowed and what is the reason for it. The list only ever gets shorter.
with (Path(__file__).parents[1] / "refusals.tsv").open() as file:
    ROWS = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))

_SOC = os.environ.get("TORCH_ACLNN_HOST_SOC") or "Ascend910B3"
PRODUCT = next((product for product, socs in GENERATIONS.items() if _SOC in socs), "A2")
_HERE = {PRODUCT, f"queue {os.environ.get('TASK_QUEUE_ENABLE', '1')}", "strict" if STRICT else ""}
_OPERATORS = {row.operator for row in listed.ROWS}
_NOT_LISTED = {o for o in _OPERATORS if not any(PRODUCT in row.since for row in listed.ROWS if row.operator == o)}


def reason_to_skip(test: str, error: str) -> str | None:
    """Return why a test may fail with this error here, or None if it may not."""
    for row in ROWS:
        if _HERE & set(row["where"].split(", ")) and re.search(row["message"], error):
            return f"{row['where']}: {row['reason']}"
    # Such as that a function records torch's own node there.
    operator = next((o for o in _NOT_LISTED if re.search(rf"(?<![a-z])({o})(?![a-z])", test)), None)
    return None if operator is None or "[cpu" in test else f"{PRODUCT}: the pages of {operator}'s entry point do not list the product"
