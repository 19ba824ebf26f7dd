"""Operators of ATB (cann-nnal), which the engine lacks: computed by operators of torch and torch_npu, or refused by name.

MindSpeed compiles some of them against ATB's headers at their first call, into a module of functions. While the engine answers, its builder
returns this module instead, so that neither ATB_HOME_PATH nor a compiler is needed. torch_npu loads its ATB operators from a library.
"""

import functools
import sys
from types import ModuleType
from typing import Any

from torch_aclnn.loading import changes

_OPERATORS = ("npu_matmul_add_fp32", "npu_groupmatmul_add_fp32", "lcal")
_APART = "2"  # the first digit of MindSpeed's numbers for domains of ranks that are no neighbours; the numbers begin with 20
_TORCH_NPU = "torch_npu.op_plugin.atb._atb_ops"
# The functions that do the same work on the engine, by a part of the operator's name.
_STAND_INS = {
    "attention_mla": "npu_fused_infer_attention_score",
    "latent": "npu_fused_infer_attention_score",
    "ring_mla": "npu_fusion_attention and npu_ring_attention_update",
    "mla_preprocess": "npu_mla_prolog",
    "attention": "npu_fused_infer_attention_score or npu_fusion_attention",
    "topk": "npu_moe_gating_top_k",
    "quantize": "npu_quantize",
    "quant_rms_norm": "npu_rms_norm and npu_quantize",
    "rotary": "npu_rotary_mul",
    "cache_load": "npu_gather_pa_kv_cache",
}


def replace() -> None:
    """Replace torch_npu's functions, and MindSpeed's builder when the program imports it."""
    changes.make({"mindspeed.op_builder.atb_builder": _serve})
    lists, torch_npu = sys.modules.get(_TORCH_NPU), sys.modules["torch_npu"]
    for owner, names in ((torch_npu, "API_LIST"), (getattr(torch_npu, "atb", None), "ATB_API_LIST")):
        for name in getattr(lists, names, ()):
            setattr(owner, name, _COMPUTED.get(name) or functools.partial(_refuse, name))


def _refuse(name: str, *_: Any, **__: Any) -> None:
    instead = next((f"; {function} does the same work" for part, function in _STAND_INS.items() if part in name), "")
    raise NotImplementedError(f"{name}: an operator of ATB (cann-nnal), which the engine has not got{instead}")


def _serve(module: Any) -> None:
    """Make MindSpeed's builder return the functions of this module."""
    module.AtbOpBuilder.load = _load


def _load(builder: Any, verbose: bool = True) -> ModuleType:
    if builder.name not in _OPERATORS:
        raise RuntimeError(
            f"{builder.name}: expected one of {', '.join(_OPERATORS)}, because the engine has nothing else of ATB (cann-nnal)"
        )
    return sys.modules[__name__]


def npu_matmul_add_fp32(x: Any, weight: Any, sums: Any) -> None:
    """Add the product of the transpose of ``x`` and ``weight`` to the sums, which are float32."""
    rows = _number_of_rows(len(x), x.device)
    npu_groupmatmul_add_fp32(x, weight, rows, sums)


def npu_groupmatmul_add_fp32(x: Any, weight: Any, group_list: Any, sums: Any) -> None:
    """Add the same product for each group of rows; the list has the groups' ends."""
    groups = sums.view(len(group_list), x.shape[-1], weight.shape[-1])
    sys.modules["torch_npu"].npu_grouped_matmul_add_(groups, x, weight, group_list)


@functools.cache
def _number_of_rows(rows: int, device: Any) -> Any:
    return sys.modules["torch"].tensor([rows], device=device)


def reshape_and_cache(key: Any, value: Any, key_cache: Any, value_cache: Any, slot_indices: Any) -> None:
    """Write each token's key and value into its slot of the caches; slots are numbered through all blocks."""
    reshape_and_cache_siso(key, key_cache, slot_indices)
    reshape_and_cache_siso(value, value_cache, slot_indices)


def reshape_and_cache_siso(key: Any, key_cache: Any, slot_indices: Any) -> None:
    """Write each token's key into its slot."""
    key_cache.view(-1, *key_cache.shape[2:])[slot_indices.long()] = key


_COMPUTED = {
    "_npu_matmul_add_fp32": npu_matmul_add_fp32,
    "_npu_reshape_and_cache": reshape_and_cache,
    "_npu_reshape_and_cache_siso": reshape_and_cache_siso,
}


# The products with collectives that MindSpeed calls LCAL. Each takes its result, the rank's number, how many ranks communicate,
# and the name of their domain.
def pure_matmul(left: Any, right: Any, bias: Any, output: Any, *_: Any) -> None:
    """Write the product. A second factor that does not fit is transposed. Here and below, a bias is added to the result."""
    sys.modules["torch"].matmul(left, right if left.shape[1] == right.shape[0] else right.t(), out=output)
    _add(output, bias)


def matmul_all_reduce(left: Any, right: Any, bias: Any, output: Any, *where: Any) -> None:
    """Write the sum of all ranks' products."""
    pure_matmul(left, right, None, output)
    _distributed().all_reduce(output, group=_group(*where))
    _add(output, bias)


def all_gather_matmul(left: Any, right: Any, bias: Any, output: Any, *where: Any) -> None:
    """Write the product of all ranks' rows."""
    _, size, _ = where
    all_gather_matmul_v2(left, right, bias, output, left.new_empty(size * left.shape[0], left.shape[1]), *where)


def all_gather_matmul_v2(left: Any, right: Any, bias: Any, output: Any, gathered: Any, *where: Any) -> None:
    """Write the product of all ranks' rows, and these rows."""
    _distributed().all_gather_into_tensor(gathered, left.contiguous(), group=_group(*where))
    pure_matmul(gathered, right, bias, output)


def matmul_reduce_scatter(left: Any, right: Any, bias: Any, output: Any, *where: Any) -> None:
    """Write this rank's rows of the sum of all ranks' products."""
    product = output.new_empty(left.shape[0], output.shape[1])
    pure_matmul(left, right, None, product)
    _distributed().reduce_scatter_tensor(output, product, group=_group(*where))
    _add(output, bias)


def all_gather_matmul_reduce_scatter(
    left: Any, right: Any, bias: Any, output: Any, rank: int, _: int, __: str, gathering: int, scattering: int, neighbours_gather: bool
) -> None:
    """Gather rows over one dimension of the ranks, multiply them, and write this rank's rows of the sum over the other dimension."""
    inner = gathering if neighbours_gather else scattering
    numbers = {True: (rank % inner, inner, ""), False: (rank // inner, gathering * scattering // inner, _APART)}
    gathered = left.new_empty(gathering * left.shape[0], left.shape[1])
    _distributed().all_gather_into_tensor(gathered, left.contiguous(), group=_group(*numbers[neighbours_gather]))
    matmul_reduce_scatter(gathered, right, bias, output, *numbers[not neighbours_gather])


def _add(output: Any, bias: Any) -> None:
    if bias is not None:
        output.add_(bias)


def _distributed() -> Any:
    return sys.modules["torch.distributed"]


def _group(number: int, size: int, domain: str) -> Any:
    """Return the group of this size in which this rank has this number: of neighbours, or of ranks apart, the nearest such."""
    rank = _distributed().get_rank()
    found: dict[int, Any] = {}
    for group, members in sys.modules["torch.distributed.distributed_c10d"]._world.pg_group_ranks.items():
        ranks = sorted(members)
        span = ranks[-1] - ranks[0]
        is_apart = span >= size > 1
        if (
            len(ranks) == size
            and ranks[number] == rank
            and is_apart == domain.startswith(_APART)
            and _distributed().get_backend(group) != "gloo"
        ):
            found.setdefault(span, group)
    if not found:
        raise RuntimeError(f"lcal: expected a process group of {size} ranks with this one as number {number}, got none (domain {domain!r})")
    return found[min(found)]
