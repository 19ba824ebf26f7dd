"""The tests that docs/evidence.tsv names fail where the engine breaks the property that they hold."""

import itertools
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.evidence import ATEN, ENTRY_POINTS, rows
from support.marks import host_engine_only

pytestmark = [host_engine_only, pytest.mark.exhaustive]

# The entry points that torch_npu launches for the operators of ATen that have a row.
OF_ATEN = {
    "avg_pool2d": "aclnnAvgPool2d",
    "adaptive_avg_pool2d": "aclnnAdaptiveAvgPool2d",
    "adaptive_avg_pool3d": "aclnnAdaptiveAvgPool3d",
    "replication_pad2d": "aclnnReplicationPad2d",
    "reflection_pad2d": "aclnnReflectionPad2d",
    "max_unpool3d": "aclnnMaxUnpool3d",
    "native_batch_norm": "aclnnBatchNorm",
    "batch_norm_stats": "aclnnBatchNormStats",
    "batch_norm_elemt": "aclnnBatchNormElemt",
    "batch_norm_backward_reduce": "aclnnBatchNormReduceBackward",
    "var_mean": "aclnnVarMean",
}

# Words for what an entry point takes, and the code with which a fault refuses it.
REFUSED = {r"\b(null|absent)\b": 161001, r"\b(taken|FLOAT|DOUBLE|INT\d+|float\d+)\b": 161002}


def broken_properties() -> Iterator[tuple[str, str]]:
    """Yield faults that break what a row states, refusals and wrong results, with each test that must fail then."""
    for names, relied_on, _, tests in rows(ENTRY_POINTS) + rows(ATEN):
        faults = [f"GetWorkspaceSize:1-={code}" for words, code in REFUSED.items() if re.search(words, relied_on)]
        if not re.search(r"\b(taken|null)\b", relied_on):  # rows with these words are about nothing else
            faults.append("@result:1-")
        for name in re.findall(r"`(\w+)`", names):
            entry_point = OF_ATEN.get(name, name)
            if entry_point.startswith("aclnn"):
                yield from itertools.product([entry_point + fault for fault in faults], re.findall(r"`(\S+)`", tests))


@pytest.mark.parametrize(("fault", "test"), sorted(set(broken_properties())))
def test_a_test_fails_where_its_property_is_broken(fault, test):
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "--full", test]
    environment = {**os.environ, "TORCH_ACLNN_HOST_FAULT": fault}
    done = subprocess.run(command, cwd=Path(__file__).parents[2], env=environment, capture_output=True, text=True)
    assert done.returncode == 1 and "never happened" not in done.stderr, done.stdout + done.stderr
