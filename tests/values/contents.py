"""What the tensors of a call are filled with: numbers for which an operator is defined."""

import functools
import re
from random import Random

import torch

SPECIAL = (float("inf"), float("-inf"), float("nan"), 0.0, -0.0)
POSITIVE = re.compile(r"var(iance)?($|Ref|Optional)|rstd|runningVar|scales?$|expAvgSq", re.I)
POSITIONS = re.compile(r"ind(ex|ices)|label|target|idx|ids|slot|sorter", re.I)
# For an entry point and a parameter: numbers within (0, 1) or above 0, that are finite, small or ascend, integers below a number.
OTHERS = {re.compile(f"aclnn({pattern})"): kind for pattern, kind in {
    r"BinaryCrossEntropy(Backward)?\.(self|target)": "unit",
    r"KlDiv\w*\.target": "positive",
    r"\w*(Loss|CrossEntropy|KlDiv)\w*\.(self|input|target|features|labels|weight|posWeight)": "finite",
    r"FakeQuant\w*\.(self|zeroPoint)": "finite",
    r"FakeQuant\w*\.scale": "positive",
    r"Bincount\.self": "0..2",
    r"(Apply|Fused)\w*\.(beta\w*|epsilon|lr|weightDecay)": "unit",
    r"(Apply|Fused)\w*\.(step|v|vRef|maxGradNorm)": "positive",
    r"RingAttentionUpdate\.\w*Sum": "positive",
    r"MoeComputeExpertTokens\.sortedExperts": "ascending",
    r"MoeGatingTopKSoftmax\.x": "finite",
    r"IndexPutImpl\.values|InplacePut\.source|MaxUnpool[23]d\.self": "equal",  # it is undefined which of several values stays at one place
    r"LinalgCholesky\.self": "definite",
    r"\w*Attention\w*\.\w+": "small",  # float32 has few digits left for large scores
    r"BatchNorm\.weight": "small",  # ATen subtracts the mean times the weight from the input times the weight
    r"(Cump|P)rod\w*\.\w+": "small",  # an infinity on the way times a 0 is no number
    r"(\w*(Backward|Grad)|ApplyAdamW)\w*\.\w+": "finite",  # ATen's kernels have two answers for what is no number
    r"(GridSampler|Slogdet|\w*(mm|Mm|Addr|MatMul|Matmul|Gemm|Addmv|Mv|Dot|Ger|Conv))\w*\.\w+": "finite",
    r"(SearchSorteds?|Bucketize)\.(sortedSequence|boundaries)": "ascending",
}.items()}  # fmt: skip


@functools.cache
def triangle() -> torch.Tensor:
    """Return the mask of attention's modes that have a causal shape."""
    return torch.ones(2048, 2048, dtype=torch.bool).triu(1)


def fill(rng: Random, entry_point: str, name: str, tensor: torch.Tensor) -> None:
    """Give a tensor other numbers."""
    generator = torch.Generator().manual_seed(rng.getrandbits(40))
    kind = next((kind for pattern, kind in OTHERS.items() if pattern.fullmatch(f"{entry_point}.{name}")), "")
    if name == "attenMask":  # at least one position counts
        tensor.copy_(triangle() if tensor.shape == triangle().shape else torch.rand(tensor.shape, generator=generator) < 0.3)
        tensor[..., :1] = 0
    elif kind == "equal":
        tensor.fill_(rng.randrange(2))
    elif tensor.dtype == torch.bool:
        tensor.copy_(torch.randint(2, tensor.shape, generator=generator))
    elif tensor.is_floating_point() or tensor.is_complex():
        tensor.copy_(_numbers(rng, "positive" if kind in ("", "finite") and POSITIVE.search(name) else kind, tensor, generator))
    else:
        lowest, highest = (0, rng.choice((0, 1, 1, 2))) if POSITIONS.search(name) else (-5 if tensor.dtype.is_signed else 0, 5)
        if ".." in kind:
            lowest, highest = map(int, kind.split(".."))
        made = torch.randint(lowest, highest + 1, tensor.shape, generator=generator)
        tensor.copy_(made.sort().values if kind == "ascending" else made)


def _numbers(rng: Random, kind: str, like: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    made = torch.randn(like.shape, dtype=torch.complex128 if like.is_complex() else torch.float64, generator=generator)
    made = made * rng.choice((1, 0.1) if kind == "small" else (1, 1, 1, 0.1, 10))
    if kind == "definite" and made.dim() > 1:
        return made @ made.mT + torch.eye(made.shape[-1])
    if not kind and rng.random() < 0.15 and made.numel() and not like.is_complex():
        made.view(-1)[rng.randrange(made.numel())] = rng.choice(SPECIAL)
    change = {"unit": torch.sigmoid, "positive": lambda x: x.abs() + 0.1, "ascending": lambda x: x if x.is_complex() else x.sort().values}
    return change[kind](made) if kind in change else made
