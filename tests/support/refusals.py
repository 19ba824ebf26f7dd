"""What a product, strict mode or a mode of the queue does not offer, so that a test that asks for it is skipped and not failed."""

import csv
import os
import re
from pathlib import Path

from support.marks import NOT_OFFERED, PRODUCT, STRICT, reason_not_offered

# Each row is a refusal, as a regular expression, with where it is allowed and what is the reason for it. The list only ever gets shorter.
with (Path(__file__).parents[1] / "refusals.tsv").open() as file:
    ROWS = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))

_HERE = {PRODUCT, f"queue {os.environ.get('TASK_QUEUE_ENABLE', '1')}", "strict" if STRICT else ""}


def reason_to_skip(error: str) -> str | None:
    """Return why any test may fail with this error here, or None if it may not."""
    for row in ROWS:
        if _HERE & set(row["where"].split(", ")) and re.search(row["message"], error):
            return f"{row['where']}: {row['reason']}"
    for operator in NOT_OFFERED:
        if f"aclnn{operator.replace('_', '')}backward: product: expected" in error.lower():
            return reason_not_offered(operator)
    return None
