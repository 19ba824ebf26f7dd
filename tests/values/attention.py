"""Calls of fused attention in all layouts, with masks, lengths, shifts and sinks, and its one plain definition for all of them."""

import ctypes
import itertools
import re
from random import Random
from typing import Any

import torch
from arguments import IntArray, TensorList
from definitions import attention, exponentials
from hostile_calls.call import Call
from sequences import TO_LAYOUT
from sound_calls import sound_arguments
from torch_aclnn.host.registry import EntryPoint

from support.dtypes import DType
from support.tensors import Tensor

from .gradients import gradient
from .translated import write

NAMES = re.compile(
    r"aclnn(FlashAttention(Score|VarLenScore|UnpaddingScore)(Grad)?|(Prompt|Incre)FlashAttention|FusedInferAttentionScore)(V\d)?"
)
TRIANGLE = 2048
FAR = 2**31 - 1


def drawn(entry_point: EntryPoint, rng: Random) -> Call:
    """Return a call with other sizes, layout, mask and lengths."""
    arguments = dict(sound_arguments(entry_point))
    kinds = {parameter.name: parameter.kind for parameter in entry_point.parameters}
    layout = rng.choice(
        [one for one in kinds["inputLayout"].partition(" in ")[2].split("|") if one.split("_")[0] in ("BNSD", "BSND", "BSH", "SBH", "TND")]
    )
    inference, incremental = "numHeads" in arguments, "Incre" in entry_point.name
    shared, batch = rng.choice((1, 2)), rng.choice((1, 2, 3))
    heads, rows, columns = shared * rng.choice((1, 2, 3)), 1 if incremental else rng.choice((1, 2, 3, 5)), rng.choice((1, 3, 4, 7))
    features = 16 if inference else rng.choice((2, 4, 16))
    dtype = rng.choice(sorted(entry_point.data_types))
    lengths = [[rng.randrange(1, most + 1) for _ in range(batch)] for most in (rows, columns)]
    packed = layout.startswith("TND")

    def tensor(count: int, of: int, sizes: list[int], size: int, form: str = "") -> Tensor:
        form = form or layout.split("_")[0]
        if packed:
            return Tensor((sum(sizes), count, size), dtype)
        return Tensor(tuple(TO_LAYOUT[form](torch.empty(batch, count, of, size)).shape), dtype)

    query = tensor(heads, rows, lengths[0], features)
    key = tensor(shared, columns, lengths[1], features)
    out = tensor(heads, rows, lengths[0], features, layout.split("_")[-1])
    new: dict[str, Any] = {"query": query, "key": key, "value": key, "attentionOut": out, "dy": out, "dq": query, "dk": key, "dv": key}
    new |= {"headNum": heads, "numHeads": heads, "numKeyValueHeads": shared, "scaleValue": rng.choice((0.5, 1.0, 0.25)), "keepProb": 1.0}
    new |= {
        "inputLayout": layout.encode(),
        "preTokens": rng.choice((FAR, FAR, 2, 1)),
        "nextTokens": rng.choice((FAR, 0, 1)),
        "pseType": 0 if inference else 1,
    }
    new |= dict.fromkeys(("softmaxMax", "softmaxSum"), Tensor((*query.shape[:2], 8) if packed else (batch, heads, rows, 8)))
    if entry_point.name.find("Grad") > 0:
        new |= dict.fromkeys(("softmaxMax", "softmaxSum", "attentionIn"))  # computed again, since drawn ones are of no softmax
    new |= {"softmaxLse": Tensor((*query.shape[:2], 1) if packed else (batch, heads, rows, 1)), "innerPrecise": 0}
    new["sparseMode"] = mode = rng.choice((0, 0, 1, 2, 3, 4)) if "sparseMode" in kinds else 0
    if rng.random() < 0.7:
        shapes = [(rows, columns), (batch, 1, rows, columns), (batch, heads, rows, columns), (1, 1, rows, columns), (batch, columns)]
        shape = (TRIANGLE, TRIANGLE) if mode > 1 else rng.choice(shapes)
        new["attenMask"] = Tensor(shape, rng.choice((DType.BOOL, DType.UINT8, DType.INT8)))
    else:
        new["sparseMode"] = 0
    if packed:
        sums = [IntArray(tuple(itertools.accumulate(each))) for each in lengths]
        new |= dict(zip(("actualSeqQLen", "actualSeqKvLen"), sums, strict=True), actualSeqLengths=sums[0], actualSeqLengthsKv=sums[1])
    elif inference and rng.random() < 0.5:
        new |= {"actualSeqLengths": IntArray(tuple(lengths[incremental])), "actualSeqLengthsKv": IntArray(tuple(lengths[1]))}
    if rng.random() < 0.3:
        new |= {"sink": Tensor((heads,)), "dsink": Tensor((heads,)), "learnableSink": Tensor((heads,), dtype)}
    if rng.random() < 0.3 and not packed:
        new["pseShift"] = Tensor((rng.choice((1, batch)), heads, rows, columns), dtype)
    for name, value in new.items():
        if name in arguments:
            arguments[name] = _as(kinds[name], arguments[name], value)
    return Call(entry_point, arguments)


def _as(kind: str, before: Any, value: Any) -> Any:
    if kind.startswith("Tensors"):
        return TensorList((value,))
    return type(before)(value) if isinstance(before, ctypes._SimpleCData) else value


def define(values: dict[str, Any]) -> None:
    """Write the results, or the gradients where there is one of the result."""
    inputs = [values["query"], *(one[0] if isinstance(one, list) else one for one in (values["key"], values["value"]))]
    sink = next((values[name] for name in ("sink", "learnableSink") if values.get(name) is not None), None)
    if "dy" in values:
        given = [*inputs, sink] if sink is not None else inputs
        found = gradient(lambda q, k, v, s=None: _attended(values, q, k, v, s)[0], values["dy"], *given)
        for name, grad in zip(("dq", "dk", "dv", "dsink"), found, strict=False):
            if values.get(name) is not None:
                write(values[name], grad)
        return
    out, lse, largest, total = _attended(values, *inputs, sink)
    write(values["attentionOut"], out)
    if values.get("softmaxLseFlag"):
        write(values["softmaxLse"], lse)
    for name, numbers in (("softmaxMax", largest), ("softmaxSum", total)):
        if values.get(name) is not None:
            values[name].copy_(numbers.expand_as(values[name]))


def _attended(values: dict[str, Any], q: Any, k: Any, v: Any, sink: Any) -> tuple[torch.Tensor, ...]:
    layout, _, out_layout = values["inputLayout"].partition("_")
    heads = values.get("headNum") or values["numHeads"]
    single = "numHeads" in values and layout != "TND" and q.shape[{"BNSD": 2}.get(layout, 1)] == 1
    found: tuple[list, ...] = ([], [], [], [])
    for i, (x, y, z) in enumerate(_sequences(values, layout, heads, q, k, v)):
        masked, shift = _masked(values, i, x.shape[1], y.shape[1], single), values.get("pseShift")
        nothing = masked.all(-1, True).expand(*x.shape[:2], 1) if masked is not None and sink is None else torch.zeros(1, dtype=torch.bool)
        masked = masked if masked is None else masked & ~nothing
        out, lse, whole = attention(
            x, y, z, values["scaleValue"], masked, None if shift is None else shift[i % len(shift), :, : x.shape[1], : y.shape[1]], sink
        )
        largest, total = (each.unsqueeze(-1) for each in exponentials(whole))
        fills = ((out, 0), (lse, -torch.inf), (largest, -torch.inf), (total, 0))
        parts = [each.masked_fill(nothing, value) for each, value in fills]
        for kept, part in zip(found, parts, strict=True):
            kept.append(part)
    if layout == "TND":
        return tuple(torch.cat([part.transpose(0, 1) for part in parts]) for parts in found)
    rows = values["query"].shape[{"BNSD": 2, "BSND": 1, "BSH": 1, "SBH": 0}[layout]]
    padded = [torch.stack([torch.nn.functional.pad(part, (0, 0, 0, rows - part.shape[1])) for part in parts]) for parts in found]
    return TO_LAYOUT[out_layout or layout](padded[0]), *padded[1:]


def _sequences(values: dict[str, Any], layout: str, heads: int, *tensors: torch.Tensor) -> Any:
    """Return the query, the key and the value of each sequence, as {heads, positions, features}."""
    names = ("actualSeqLengths", "actualSeqLengthsKv") if "numHeads" in values else ("actualSeqQLen", "actualSeqKvLen")
    lengths = [values.get(name) if "numHeads" in values or layout == "TND" else None for name in names]
    if layout == "TND":
        sizes = [[end - begin for begin, end in itertools.pairwise((0, *ends))] for ends in lengths]
        return zip(*([part.transpose(0, 1) for part in one.split(sizes[min(i, 1)])] for i, one in enumerate(tensors)), strict=True)
    features = values["query"].shape[-1] // (1 if layout.endswith("D") else heads)
    if layout.endswith("H"):
        tensors = tuple(one.unflatten(2, (-1, features)) for one in tensors)
    order = {"BNSD": (0, 1, 2, 3), "BSND": (0, 2, 1, 3), "BSH": (0, 2, 1, 3), "SBH": (1, 2, 0, 3)}[layout]
    query, key, value = (one.permute(order) for one in tensors)
    if "numHeads" in values and "preTokens" not in values:
        lengths = [None, lengths[0]]  # the lengths of the keys, to which each step adds one query
    rows = lengths[0] if lengths[0] and query.shape[2] > 1 else [query.shape[2]] * len(query)
    columns = lengths[1] or [key.shape[2]] * len(key)
    return [(query[i, :, : rows[i]], key[i, :, : columns[i]], value[i, :, : columns[i]]) for i in range(len(query))]


def _masked(values: dict[str, Any], i: int, rows: int, columns: int, single: bool) -> torch.Tensor | None:
    mask, mode = values.get("attenMask"), values.get("sparseMode", 0)
    if mask is None:
        return None
    if single:  # neither modes nor distances count
        flat = mask.bool().reshape(-1, mask.shape[-1])
        return None if mode > 1 else flat[i % len(flat)][:columns].unsqueeze(0)
    distance = torch.arange(columns) - torch.arange(rows).unsqueeze(1) - (columns - rows if mode > 2 else 0)
    if mode in (2, 3):
        return distance > 0
    far = (distance > values.get("nextTokens", FAR)) | (distance < -values.get("preTokens", FAR)) if mode != 1 else distance > FAR
    if mode == 4:
        return far
    mask = mask.bool()
    mask = mask[i % len(mask)] if mask.dim() == 4 else mask
    return mask[..., :rows, :columns] | far
