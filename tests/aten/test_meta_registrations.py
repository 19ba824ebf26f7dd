"""What torch_npu says of its operators' results without data, against what the operators give on the engine: shapes and data types."""

import csv
from pathlib import Path
from typing import Any

import pytest
import torch
from meta_samples import SAMPLES as PLAIN
from meta_samples_of_attention import SAMPLES as OF_ATTENTION
from torch.utils._pytree import tree_leaves, tree_map
from torch_aclnn.host.registry import entry_points, named_operators

from support.marks import marked, with_routing_v3
from support.subprocesses import output_of

SAMPLES = {**PLAIN, **OF_ATTENTION}
UNCOMPARED = Path(__file__).with_name("meta_uncompared.tsv")
# torch_npu's two answers differ: what its C++ allocates for the operator, and what its Python describes.
DIFFERENT = {
    "npu_cross_entropy_loss": "C++ has no memory for the results of the z loss, which is not asked for; Python gives them a size",
    "npu_fusion_attention_grad_v2": "Python takes a list for one tensor and fails",
    "npu_fusion_attention_grad_v3": "C++ leaves the gradient of the bias undefined without one; Python gives it a size",
    "npu_geglu_grad": "Python returns two tensors where the schema has one",
    "npu_grouped_matmul.List": "C++ gives each group a result; Python describes their concatenation",
    "npu_moe_distribute_dispatch": "C++ gives the tokens' scales a size without scales, too; Python gives none",
    "npu_moe_distribute_dispatch_v2": "C++ gives the tokens' scales a size without scales, too; Python gives none",
    "npu_moe_gating_top_k_softmax_v2": "C++ gives the softmax the shape of its input; Python leaves out the last dimension",
    "npu_moe_token_unpermute_grad_v2": "C++ gives absent probabilities a gradient without dimensions; Python gives none",
    "npu_scatter_list_": "Python returns the list where the schema has no result, and fails",
}

# Operators that need two processes, and operators of another product.
WITH_RANKS = {  # tests/distributed/programs/products.py compares them
    "npu_all_gather_base_mm", "npu_all_gather_quant_mm", "npu_all_to_all_matmul", "npu_matmul_all_to_all", "npu_mm_reduce_scatter_base",
    "npu_quant_matmul_all_to_all", "npu_quant_mm_reduce_scatter",
}  # fmt: skip
OF_950 = {"_npu_format_cast.aclnn", "_npu_format_cast.input_dtype"}


def registered() -> set[str]:
    """Return the operators whose results torch_npu describes without data: its own without their namespace, and ATen's."""
    from torch._library.simple_registry import singleton
    from torch_npu.op_plugin.meta import _meta_registrations

    names = torch._C._dispatch_get_all_op_names()
    with_kernels = {name for name in names if torch._C._dispatch_has_kernel_for_dispatch_key(name, "Meta")}
    with_fakes = {name for name, entry in singleton._data.items() if entry.fake_impl.kernel}
    own = {name.removeprefix("npu::") for name in with_kernels | with_fakes if name.startswith("npu::")}
    return own | {"::".join(key.split("/")[:2]) for key in _meta_registrations.m_aten._op_impls}


def operator(name: str) -> Any:
    namespace, name = name.split("::") if "::" in name else ("npu", name)
    packet, _, overload = name.partition(".")
    return getattr(getattr(getattr(torch.ops, namespace), packet), overload or "default")


def results(name: str, device: str) -> list[tuple[torch.Size, torch.dtype] | None]:
    """Return the shapes and data types of an operator's results; an undefined one is None."""
    torch.manual_seed(0)
    args, kwargs = tree_map(lambda value: value.to(device) if isinstance(value, torch.Tensor) else value, SAMPLES[name]())
    given = operator(name)(*args, **kwargs)
    torch.npu.synchronize()
    return [(result.shape, result.dtype) if isinstance(result, torch.Tensor) else None for result in tree_leaves(given)]


def described(name: str) -> list[tuple[torch.Size, torch.dtype] | None] | str:
    """Return the same as torch_npu describes it, or how that fails."""
    try:
        return results(name, "meta")
    except (RuntimeError, TypeError) as error:
        return str(error)


@pytest.mark.parametrize("name", marked(SAMPLES, "npu_moe_init_routing_v2", with_routing_v3))
def test_results_are_as_torch_npu_describes_them(name):
    if name in DIFFERENT:
        assert results(name, "npu") != described(name)
    else:
        assert results(name, "npu") == described(name)


ON_950 = """
import torch, torch_aclnn, torch_npu
for overload, types in (("aclnn", (1,)), ("input_dtype", (2, 1))):
    for device in ("npu", "meta"):
        cast = getattr(torch.ops.npu._npu_format_cast, overload)(torch.zeros(16, 32, dtype=torch.int8, device=device), 29, *types)
        print(tuple(cast.shape), cast.dtype)
"""


def test_a_format_cast_of_950_is_as_torch_npu_describes_it():
    printed = output_of(ON_950, TORCH_ACLNN_HOST_SOC="Ascend950PR_9599").splitlines()
    assert printed == ["(16, 32) torch.int8"] * 4


def test_each_registration_is_compared_or_listed():
    """The list only shrinks: an operator whose missing part the engine has by now needs a sample."""
    with UNCOMPARED.open(newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    listed = [operator for row in rows for operator in row["operators"].split()]
    assert len(listed) == len(set(listed)) and not SAMPLES.keys() & set(listed)
    assert registered() == SAMPLES.keys() | WITH_RANKS | OF_950 | set(listed)
    there = {entry_point.name for entry_point in entry_points() if not entry_point.refused} | set(named_operators())
    assert [row["operators"] for row in rows if there & set(row["missing"].split())] == []
    assert [row["operators"] for row in rows if bool(row["missing"]) == bool(row["reason"])] == []
