"""What torch-aclnn check takes for right: the definitions, the units of errors, dtypes not offered, repeats and counts."""

import pytest
import torch
from torch_aclnn._operators import BY_NAME, OPERATORS
from torch_aclnn.check import error, listed, machine, pairs, records, values
from torch_aclnn.check.families import SPECIFICATIONS
from torch_aclnn.check.layouts import LAYOUTS

from support.marks import host_engine_only, of_a2_and_a3, skip_if_torchs, skipped_if_torchs

pytestmark = host_engine_only


OTHER_BITS = "9 of 9 repeats gave other bits than the first call"


def replace_operator(monkeypatch, change):
    """Let the checks call the operator through `change(operator)`."""
    operator = values._operator
    monkeypatch.setattr(values, "_operator", lambda name: change(operator(name)))


@of_a2_and_a3
def test_a_wrong_result_fails(monkeypatch):
    replace_operator(monkeypatch, lambda operator: lambda *arguments: operator(*arguments) * (1 + 2**-18))
    found = values.check_values("avg_pool2d", torch.float32, "strided view", 1)
    assert found.status == records.FAILED and found.error_ulp > found.limit_ulp == 8
    assert " ulp where the engine has at most 8, and torch_npu's own has " in found.message


@pytest.mark.parametrize(("error", "status"), [(2**-18, records.LESS_EXACT), (2**-12, records.FAILED)])
@of_a2_and_a3
def test_where_torch_npu_has_no_operator_of_its_own_op_plugins_tolerance_decides(monkeypatch, error, status):
    replace_operator(monkeypatch, lambda operator: lambda *arguments: operator(*arguments) * (1 + error))
    found = values.check_values("circular_pad2d", torch.float32, "contiguous", 1)
    assert found.status == status and ", and op-plugin's tests allow 0.0001 of a value, not " in found.message


@skipped_if_torchs("max_unpool3d")
def test_an_element_that_changed_while_it_moved_fails(monkeypatch):
    replace_operator(monkeypatch, lambda operator: lambda *arguments: operator(*arguments) + 1)
    found = values.check_values("max_unpool3d", torch.int8, "contiguous", 1)
    assert found.status == records.FAILED and "elements that only move have changed" in found.message


@of_a2_and_a3
def test_a_result_that_is_no_number_fails_and_has_no_error_in_json(monkeypatch):
    replace_operator(monkeypatch, lambda _: lambda grad, size, *rest: torch.full(size, float("nan")))
    found = values.check_values("avg_pool2d", torch.float32, "contiguous", 0)
    assert (found.status, found.error_ulp, found.message) == (records.FAILED, None, found.message)
    assert found.message.startswith("an error of inf ulp where the engine has at most 8, ")


@pytest.mark.parametrize(
    ("name", "dtype", "words", "status"),
    [
        ("replication_pad2d", torch.bfloat16, "failed with 161002", records.NOT_OFFERED),
        ("replication_pad2d", torch.bfloat16, "failed with 561000", records.FAILED),
        ("avg_pool2d", torch.bfloat16, "failed with 161002", records.FAILED),
        ("avg_pool2d", torch.float32, "failed with 161002", records.FAILED),
    ],
)
@of_a2_and_a3
def test_only_what_no_page_lists_may_be_refused(monkeypatch, name, dtype, words, status):
    def fail(*arguments):
        raise RuntimeError(words)

    replace_operator(monkeypatch, lambda _: fail)
    for found in (values.check_values(name, dtype, "contiguous", 0), values.check_determinism(name, dtype, 0)):
        assert (found.status, found.listed) == (status, name == "avg_pool2d") and found.message.endswith(words)
        is_wrong_refusal = status == records.FAILED and "161002" in words
        assert found.message.startswith("refused, although the pages from CANN 8.") == is_wrong_refusal


def test_other_bits_under_deterministic_algorithms_fail(monkeypatch):
    def noisy(grad, size, *rest):
        return torch.randn(size) if torch.are_deterministic_algorithms_enabled() else torch.ones(size)

    replace_operator(monkeypatch, lambda _: noisy)
    found = values.check_determinism("avg_pool2d", torch.float32, 0)
    assert (found.status, found.message) == (records.FAILED, f"with deterministic algorithms {OTHER_BITS}")
    assert found.detail == "deterministic algorithms give other bits" and not torch.are_deterministic_algorithms_enabled()


@pytest.mark.parametrize(
    ("operator", "dtype", "product", "cann", "answer"),
    [
        ("avg_pool2d", "bfloat16", "A2", "8.0.RC2", False),
        ("avg_pool2d", "bfloat16", "A2", "8.0.RC3", True),
        ("avg_pool2d", "bfloat16", "inference", "8.5.0", False),
        ("avg_pool2d", "float32", "former", "8.5.0", False),
        ("adaptive_avg_pool2d", "bfloat16", "A2", "8.0.RC3.alpha003", False),
        ("adaptive_avg_pool2d", "bfloat16", "A2", "8.0.0", True),
        ("adaptive_avg_pool3d", "float32", "inference", "8.5.0", False),
        ("batch_norm_elemt", "bfloat16", "A3", "8.1.RC1", False),
        ("batch_norm_elemt", "bfloat16", "A3", "8.2.RC1", True),
        ("reflection_pad2d", "complex64", "inference", None, True),
        ("reflection_pad2d", "complex64", "A3", None, False),
        ("max_unpool3d", "float64", "310B", "8.5.0", False),
    ],
)
def test_what_the_pages_list_by_version_and_product(operator, dtype, product, cann, answer):
    assert listed.is_listed(operator, dtype, product, cann) is answer


@pytest.mark.parametrize("operator", OPERATORS, ids=lambda operator: operator.name)
def test_the_pages_of_an_operator_list_only_known_products_and_dtypes(operator):
    tried = {values.name_of(dtype) for dtype in SPECIFICATIONS[operator.name].dtypes}
    assert operator.listed
    for row in operator.listed:
        assert row.since.keys() <= set(listed.PRODUCTS) and set(row.dtypes) <= tried


@pytest.mark.parametrize(
    ("number", "product"), [(102, "former"), (202, "inference"), (223, "A2"), (240, "310B"), (255, "A3"), (260, "950")]
)
def test_products_by_torch_npus_numbers(monkeypatch, number, product):
    monkeypatch.setattr(machine.torch_npu.npu, "get_soc_version", lambda: number)
    assert machine.generation() == product and (product in listed.PRODUCTS) == (product != "former")
    assert machine.may_compute_float32_in_float16() == (product in ("former", "inference"))


@pytest.mark.parametrize(
    ("dtype", "value", "actual", "ulp"),
    [
        (torch.float32, 1.0, 1 + 2**-23, 1.0),
        (torch.float32, 1.0, 1 - 2**-24, 0.5),
        (torch.float16, 1.0, 1 + 2**-10, 1.0),
        (torch.bfloat16, 3.0, 3 + 2**-6, 1.0),
        (torch.float64, 2.0, 2 + 2**-51, 1.0),
        (torch.float16, 0.0, 2**-24, 1.0),  # the smallest number of the format
        (torch.float32, 1.0, float("nan"), float("inf")),
    ],
)
def test_errors_are_in_units_in_the_last_place(dtype, value, actual, ulp):
    exact = torch.tensor([value], dtype=torch.float64)
    assert error.in_ulp(torch.tensor([actual], dtype=torch.float64), exact, exact.abs(), dtype) == ulp


def test_a_wide_result_is_measured_by_what_was_summed():
    exact, scale = torch.tensor([1e-6], dtype=torch.float64), torch.tensor([1.0], dtype=torch.float64)
    assert error.in_ulp(exact + 2**-23, exact, scale, torch.float32) == pytest.approx(1.0)


def has_cpu_kernel(aten: str | None) -> bool:
    return aten is not None and torch._C._dispatch_has_kernel_for_dispatch_key(f"aten::{aten}", "CPU")


@pytest.mark.parametrize("operator", [o for o in OPERATORS if has_cpu_kernel(o.aten_backward)], ids=lambda operator: operator.name)
def test_the_definitions_are_those_of_atens_gradients(operator):
    specification = SPECIFICATIONS[operator.name]
    for sample in specification.samples(torch.float64):
        result = getattr(torch.ops.aten, operator.aten_backward).default(*specification.aten_arguments(sample))
        torch.testing.assert_close(result, sample.expected()[0])


@pytest.mark.parametrize("name", BY_NAME)
def test_what_is_compared_with_torch_gives_the_same(name):
    skip_if_torchs(name, "npu")
    specification = SPECIFICATIONS[name]
    x = torch.randn(specification.tiny_layer_shape).npu().requires_grad_()
    ours, theirs = (layer(x) for layer in specification.layers(x))
    torch.testing.assert_close(ours.cpu(), theirs.cpu())
    assert ours.grad_fn.name() != theirs.grad_fn.name()
    results = [call().cpu() for call in pairs.operator_calls(name) if call is not None]
    torch.testing.assert_close(results[0], results[-1])


def test_the_layouts_are_what_they_are_called():
    x = torch.arange(120.0).view(2, 3, 4, 5)
    arranged = {name: layout(x) for name, layout in LAYOUTS.items()}
    assert all(torch.equal(t.cpu(), x) and t.device.type == "npu" for t in arranged.values())
    assert arranged["channels_last"].is_contiguous(memory_format=torch.channels_last)
    assert arranged["strided view"].storage_offset() == 3 and arranged["strided view"].stride(-1) == 2
