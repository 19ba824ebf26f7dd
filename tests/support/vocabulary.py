"""The records of csrc/vocabulary: what is known of each entry point on ATen's kernels."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2] / "csrc" / "vocabulary"))

import records

RECORDS = {record.name: record for record in records.read_all()}
