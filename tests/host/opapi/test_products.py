"""What the engine accepts as each product, and what its settings change; every case is a process of its own."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from torch_aclnn.host import libdir

from host.opapi.calls import (
    ADAPTIVE_AVG_POOL2D,
    AVG_POOL2D,
    BATCH_NORM_ELEMT,
    GOOD,
    MAX_UNPOOL3D,
    REPLICATION_PAD2D,
)
from host.opapi.client import INVALID, NULL, PARAMETERS

TESTS = Path(__file__).parents[2]


def probe(what, **settings):
    kept = {name: value for name, value in os.environ.items() if not name.startswith("TORCH_ACLNN_HOST_")}
    command = [sys.executable, "-S", "-m", "host.opapi.probe", str(libdir()), what]
    return subprocess.run(command, cwd=TESTS, env=kept | settings, capture_output=True, text=True, timeout=60, check=True)


@pytest.fixture(scope="module")
def accepts():
    """Return a function that asks the engine as a product what it accepts, once for each product."""
    known = {}

    def ask(soc, float64="0"):
        if (soc, float64) not in known:
            answer = probe("accepts", TORCH_ACLNN_HOST_SOC=soc, TORCH_ACLNN_HOST_FLOAT64=float64).stdout
            known[soc, float64] = json.loads(answer)
        return known[soc, float64]

    return ask


POOLING = {"FLOAT", "FLOAT16"}
PADDING = {"FLOAT16", "FLOAT", "DOUBLE", "COMPLEX64", "COMPLEX128"}
UNPOOLING = {"FLOAT", "FLOAT16", "INT8", "UINT8", "INT16", "INT32", "INT64", "DOUBLE"}
COUNTER = {"INT32", "FLOAT16", "FLOAT"}
A2_EXTRA = {"BF16"}

# SoC: the types of pooling (both kinds), padding, unpooling, batch norm and its counter.
INFERENCE = (POOLING, PADDING, set(), set(), set())
TRAINING = (POOLING, PADDING, UNPOOLING, POOLING, COUNTER)
A2 = (POOLING | A2_EXTRA, PADDING | A2_EXTRA, UNPOOLING, POOLING | A2_EXTRA, COUNTER)
PRODUCTS = {"Ascend310P3": INFERENCE, "Ascend910A": TRAINING, "Ascend910B": TRAINING, "Ascend910B3": A2}


@pytest.mark.parametrize(("soc", "types"), PRODUCTS.items(), ids=PRODUCTS.keys())
def test_product_takes_exactly_its_dtypes(accepts, soc, types):
    pooling, padding, unpooling, norm, counter = types
    answer = accepts(soc)
    assert {name: set(accepted) for name, accepted in answer["dtypes"].items()} == {
        AVG_POOL2D: pooling,
        ADAPTIVE_AVG_POOL2D: pooling,
        REPLICATION_PAD2D: padding,
        MAX_UNPOOL3D: unpooling,
        BATCH_NORM_ELEMT: norm,
    }
    assert set(answer["counter"]) == counter
    assert answer["indices"] == (["INT64"] if unpooling else [])


@pytest.mark.parametrize("soc", PRODUCTS)
def test_product_takes_the_operators_that_list_it(accepts, soc):
    unlisted = {MAX_UNPOOL3D, BATCH_NORM_ELEMT} if PRODUCTS[soc] is INFERENCE else set()
    for entry_point in GOOD:
        code, sentence = accepts(soc)["outcomes"][entry_point]
        if entry_point in unlisted:
            assert code == INVALID
            assert sentence == (
                f"{entry_point}: product: expected training, A2, got {soc}, "
                "which is of the inference products that do not list this operator"
            )
        else:
            assert (code, sentence) == (0, "")


@pytest.mark.parametrize("entry_point", GOOD)
def test_null_is_reported_before_the_product(accepts, entry_point):
    code, sentence = accepts("Ascend310P3")["null"][entry_point]
    assert code == NULL
    assert sentence == f"{entry_point}: {PARAMETERS[entry_point][-3]}: expected a value, got null"


@pytest.mark.parametrize(("soc", "types"), PRODUCTS.items(), ids=PRODUCTS.keys())
def test_cube_math_types(accepts, soc, types):
    accepted = accepts(soc)["cubeMathType"]
    down_cast_only = types is not A2
    assert accepted["FLOAT"] == ([1, 2] if down_cast_only else [0, 1, 2, 3])
    assert accepted["FLOAT16"] == [0, 1, 2, 3]
    assert accepted["BF16"] == ([] if down_cast_only else [0, 1, 2, 3])


@pytest.mark.parametrize("soc", [soc for soc, types in PRODUCTS.items() if types is not A2])
def test_sentence_about_the_cube_math_type_names_the_product(accepts, soc):
    code, sentence = accepts(soc)["float32 without down-cast"]
    assert code == INVALID
    assert sentence == f"{AVG_POOL2D}: cubeMathType: expected 1 or 2 for FLOAT on {soc}, got 0"


@pytest.mark.parametrize("soc", ["Ascend910A", "Ascend910B3"])
def test_float64_is_the_one_declared_extension(accepts, soc):
    strict, extended = accepts(soc)["dtypes"], accepts(soc, float64="1")["dtypes"]
    for entry_point in GOOD:
        declared = {"DOUBLE"} if entry_point in (AVG_POOL2D, ADAPTIVE_AVG_POOL2D, BATCH_NORM_ELEMT) else set()
        assert set(extended[entry_point]) - set(strict[entry_point]) == declared
        assert set(strict[entry_point]) <= set(extended[entry_point])


def test_float64_does_not_bring_an_operator_to_another_product(accepts):
    answer = accepts("Ascend310P3", float64="1")["dtypes"]
    assert answer[MAX_UNPOOL3D] == answer[BATCH_NORM_ELEMT] == []
    assert set(answer[AVG_POOL2D]) == POOLING | {"DOUBLE"}


def test_cube_math_type_is_in_the_trace():
    trace = probe("accepts", TORCH_ACLNN_HOST_TRACE="stderr").stderr
    for value in range(4):
        assert f"{AVG_POOL2D} cubeMathType={value} (computed in float32)" in trace


def test_results_are_the_same_bits_for_every_number_of_threads_and_every_run():
    one, two, again, seven = (json.loads(probe("digest", TORCH_ACLNN_HOST_THREADS=threads).stdout) for threads in ("1", "2", "2", "7"))
    assert list(one) == list(GOOD)
    assert len(set(one.values())) == len(GOOD)
    assert one == two == again == seven
