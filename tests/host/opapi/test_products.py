"""What the engine accepts as each product, and what its settings change; every case is a process of its own."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from torch_aclnn.loading.paths import libdir

from support.entry_point import GENERATIONS, PRODUCTS, UNTOLD
from support.operators import ENTRY_POINTS
from support.status import INVALID, NULL

TESTS = Path(__file__).parents[2]


def probe(what, **settings):
    kept = {name: value for name, value in os.environ.items() if not name.startswith("TORCH_ACLNN_HOST_")}
    command = [sys.executable, "-S", "-m", "support.probe", str(libdir()), what]
    return subprocess.run(command, cwd=TESTS, env=kept | settings, capture_output=True, text=True, timeout=60, check=True)


@pytest.fixture(scope="module")
def accepts():
    """Return a function that asks the engine as a product what it accepts, once for each product."""
    known = {}

    def ask(soc, mode=""):
        if (soc, mode) not in known:
            known[soc, mode] = json.loads(probe("accepts", TORCH_ACLNN_HOST_SOC=soc, TORCH_ACLNN_HOST_MODE=mode).stdout)
        return known[soc, mode]

    return ask


def products_of(entry_point):
    return {product for product, dtypes in ENTRY_POINTS[entry_point].dtypes.items() if dtypes}


@pytest.mark.parametrize("soc", PRODUCTS)
@pytest.mark.parametrize("entry_point", ENTRY_POINTS)
def test_product_takes_exactly_its_dtypes(accepts, entry_point, soc):
    answer, listed = accepts(soc), ENTRY_POINTS[entry_point]
    assert set(answer["dtypes"][entry_point]) == listed.dtypes[soc]
    fixed = {name: set(dtypes) for name, dtypes in answer["fixed"][entry_point].items()}
    assert fixed == {name: dtypes[soc] for name, dtypes in listed.fixed_dtypes.items()}


@pytest.mark.parametrize("soc", PRODUCTS)
@pytest.mark.parametrize("entry_point", ENTRY_POINTS)
def test_product_takes_the_operators_that_list_it(accepts, entry_point, soc):
    code, message = accepts(soc)["outcomes"][entry_point]
    if soc in products_of(entry_point):
        assert (code, message) == (0, "")
    else:
        listing = ", ".join(
            n for n, products in GENERATIONS.items() if products_of(entry_point).issuperset(products) and products != UNTOLD
        )
        (own,) = (name for name, products in GENERATIONS.items() if soc in products)
        assert code == INVALID
        assert message == (
            f"{entry_point}: product: expected {listing}, got {soc}, which is of the {own} products that do not list this operator"
        )


@pytest.mark.parametrize("entry_point", ENTRY_POINTS)
def test_strict_mode_takes_no_operator_of_which_no_page_tells(accepts, entry_point):
    code, message = accepts(*UNTOLD, mode="strict")["outcomes"][entry_point]
    assert code == INVALID and message.startswith(f"{entry_point}: product: expected ")


@pytest.mark.parametrize("entry_point", ENTRY_POINTS)
def test_null_is_reported_before_the_product(accepts, entry_point):
    code, message = accepts("Ascend310P3")["null"][entry_point]
    assert code == NULL
    assert message == f"{entry_point}: {ENTRY_POINTS[entry_point].output}: expected a value, got null"


@pytest.mark.parametrize("soc", ["Ascend310P3", "Ascend910B3"])
@pytest.mark.parametrize("entry_point", ENTRY_POINTS)
def test_float64_is_the_one_declared_extension_and_brings_no_operator_to_another_product(accepts, entry_point, soc):
    contract, extended = (set(accepts(soc, mode)["dtypes"][entry_point]) for mode in ("", "float64"))
    declared = {"DOUBLE"} if ENTRY_POINTS[entry_point].float64_extension and soc in products_of(entry_point) else set()
    assert contract <= extended and extended - contract == declared


def test_results_are_the_same_bits_for_every_number_of_threads_and_every_run():
    one, two, again, seven = (json.loads(probe("digest", TORCH_ACLNN_HOST_THREADS=threads).stdout) for threads in ("1", "2", "2", "7"))
    assert list(one) == list(ENTRY_POINTS)
    assert len(set(one.values())) == len(ENTRY_POINTS)
    assert one == two == again == seven
