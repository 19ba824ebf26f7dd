"""Functions of torch and torch_npu that call operators by name, and what each computes.

All of them do so where torch_npu takes operators to be compiled (jit_compile=True). By default they do on 310P, where the result of a half
convolution has a private format, and those of torch_npu do on A2.
"""

import json
import math
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
import torch_npu
from torch import Tensor, nn

IMAGE, MATRIX, VOLUME = (2, 3, 6, 8), (5, 4), (2, 3, 4, 6, 5)


@dataclass(frozen=True)
class Case:
    """A function of tensors of numbers from 0.1 to 0.9.

    Attributes:
        call: the function.
        sizes: of the tensors.
        expected: the same in torch's own functions, where the CPU has not got the function.
        differentiable: whether gradients of the tensors are compared, too.

    """

    call: Callable[..., Any]
    sizes: tuple[tuple[int, ...], ...] = (IMAGE,)
    expected: Callable[..., Any] | None = None
    differentiable: bool = True


def plain(call: Callable[..., Any], *sizes: tuple[int, ...], expected: Callable[..., Any] | None = None) -> Case:
    return Case(call, sizes or (IMAGE,), expected, differentiable=False)


def layer(make: Callable[[], nn.Module], size: tuple[int, ...] = IMAGE, *states: tuple[int, ...], training: bool = True) -> Case:
    """Return the call of a module, with its states and parameters as tensors of the case, and its buffers among the results."""
    names = [name for name, _ in make().named_parameters()]

    def call(x: Tensor, *rest: Tensor) -> Any:
        module, given = make().train(training).to(x.device, x.dtype), rest[: len(states)]
        inputs = (x,) if not given else (x, given if len(given) > 1 else given[0])
        result = torch.func.functional_call(module, dict(zip(names, rest[len(states) :], strict=True)), inputs)
        return result, *module.buffers()

    return Case(call, (size, *states, *(tuple(parameter.shape) for parameter in make().parameters())))


class Packed(nn.Module):
    """An LSTM on sequences of different lengths."""

    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(4, 5)

    def forward(self, x: Tensor) -> Tensor:
        packed, _ = self.lstm(nn.utils.rnn.pack_padded_sequence(x.detach(), [3, 1]))  # torch_npu's gradient of packing leaves rows out
        return nn.utils.rnn.pad_packed_sequence(packed)[0]


def below(x: Tensor, limit: int) -> Tensor:
    """Return whole numbers below a limit, by the numbers in a tensor."""
    return (x.detach().float() * 1000).long() % limit


MEANS, DEVIATIONS = (0.1, -0.2, 0.05, 0.0), (0.5, 0.5, 0.25, 0.2)


def boxes(x: Tensor) -> Tensor:
    """Return boxes {x1, y1, x2, y2}, whose last row and column belong to them."""
    return torch.cat([x[:, :2], x[:, :2] + x[:, 2:] + 0.1], 1).detach() * 40


def encoded(x: Tensor, y: Tensor) -> Tensor:
    return torch_npu.npu_bounding_box_encode(boxes(x), boxes(y), *MEANS, *DEVIATIONS)


def plain_code(x: Tensor, y: Tensor) -> Tensor:
    (centre, size), (other, other_size) = (((b[:, 2:] + b[:, :2]) / 2, b[:, 2:] - b[:, :2] + 1) for b in (boxes(x), boxes(y)))
    return (torch.cat([(other - centre) / size, (other_size / size).log()], 1) - torch.tensor(MEANS)) / torch.tensor(DEVIATIONS)


def overlap(kind: str, a: Tensor, b: Tensor) -> Tensor:
    """Return the overlap of each box of {4, N} with the other of its column, each with its centre and size."""
    (low, high), (other_low, other_high) = ((t[:2] - t[2:] / 2, t[:2] + t[2:] / 2) for t in (a, b))
    shared = (torch.min(high, other_high) - torch.max(low, other_low)).clamp(0).prod(0)
    outer, union = torch.max(high, other_high) - torch.min(low, other_low), a[2:].prod(0) + b[2:].prod(0) - shared
    if kind == "giou":
        return (shared / union - 1 + union / outer.prod(0))[:, None]
    distance = shared / union - ((a[:2] - b[:2]) ** 2).sum(0) / (outer**2).sum(0)
    v = 4 / math.pi**2 * ((b[2] / b[3]).atan() - (a[2] / a[3]).atan()) ** 2
    return (distance - (v * (v / (1 - shared / union + v)).detach() if kind == "ciou" else 0))[None]


def adam(step: Callable[..., Any]) -> Callable[..., Any]:
    """Return a step of Adam by torch_npu, of a parameter, its two moments and the gradient."""

    def call(*state: Tensor) -> tuple[Tensor, ...]:
        *out, grad = (t.clone() for t in state)
        step(grad, tuple(out))
        return tuple(out)

    return call


def after_adam(parameter: Tensor, mean: Tensor, square: Tensor, grad: Tensor, before: int) -> tuple[Tensor, Tensor, Tensor]:
    """Return a parameter and its moments after a step of Adam, with the betas' powers of `before` steps and one."""
    mean, square = 0.9 * mean + 0.1 * grad, 0.99 * square + 0.01 * grad * grad
    power, power_of_square = 0.729 * 0.9**before, 0.97 * 0.99**before
    return parameter - 0.1 * (1 - power_of_square) ** 0.5 * mean / (square.sqrt() + 1e-6) / (1 - power), mean, square


def survivors(x: Tensor, left: Tensor) -> Tensor:
    """Return whether dropout has left about three quarters, each multiplied by 4 / 3, and zeros."""
    three_quarters = ((left != 0).float().mean() - 0.75).abs() < 0.05
    return torch.stack([three_quarters, ((left == 0) | ((left * 0.75 - x).abs() < 1e-6)).all()]).to(x.dtype)


ONE = {
    "Abs Sign": lambda x: torch.abs(x - 0.5), "Acos": torch.acos, "Acosh": lambda x: torch.acosh(x + 1), "Asin": torch.asin,
    "Asinh": torch.asinh, "Atan": torch.atan, "Atanh": torch.atanh, "Ceil": torch.ceil, "Cos": torch.cos, "Cosh": torch.cosh,
    "Erf": torch.erf, "Erfc": torch.erfc, "Erfinv": torch.erfinv, "Exp": torch.exp, "Expm1": torch.expm1,
    "Floor": lambda x: torch.floor(x * 3), "Gelu GeluGrad": F.gelu, "HardSigmoid HardSigmoidGrad": F.hardsigmoid,
    "HardSwish HardSwishGrad": F.hardswish, "IsFinite": lambda x: torch.isfinite(x / (x > 0.5)), "Log": torch.log,
    "Log 2": torch.log2, "Log 10": torch.log10, "Log1p": torch.log1p, "LogSigmoid LogSigmoidGrad": F.logsigmoid,
    "LogicalNot": lambda x: torch.logical_not(x > 0.5), "Mish MishGrad": F.mish, "Neg": torch.neg, "Reciprocal": torch.reciprocal,
    "Relu ReluGrad": lambda x: F.relu(x - 0.5), "Round": lambda x: torch.round(x, decimals=1), "Rsqrt": torch.rsqrt,
    "Sigmoid SigmoidGrad": torch.sigmoid, "Sin": torch.sin, "Sinh": torch.sinh, "Sqrt": torch.sqrt, "Square": torch.square,
    "Swish SiluGrad": F.silu, "Tan": torch.tan, "Tanh TanhGrad": torch.tanh, "Trunc": lambda x: torch.trunc(x * 3),
    "ZerosLike": torch.zeros_like, "Fill": lambda x: torch.full_like(x, 7.0), "GLU GLUGrad": F.glu,
    "LeakyRelu LeakyReluGrad": lambda x: F.leaky_relu(x - 0.5, 0.25), "Elu EluGradV2": lambda x: F.elu(x - 0.5, 0.75),
    "CeluV2": lambda x: F.celu(x - 0.5, 1.5), "SoftplusV2 SoftplusV2Grad": lambda x: F.softplus(x, 2.0, 1.0),
    "HardShrink HardShrinkGrad": lambda x: F.hardshrink(x - 0.5, 0.25), "SoftShrink SoftShrinkGrad": lambda x: F.softshrink(x - 0.5, 0.25),
    "ThresholdV2D ThresholdGradV2D": lambda x: F.threshold(x, 0.5, 7.0), "ClipByValue HardtanhGrad": lambda x: F.hardtanh(x, 0.3, 0.6),
    "ClipByValueV2": lambda x: torch.clamp(x, 0.3, 0.6), "SoftmaxV2 SoftmaxGrad": lambda x: x.softmax(1),
    "LogSoftmaxV2 LogSoftmaxGrad": lambda x: x.log_softmax(1), "ReduceSum": lambda x: x.sum((0, 2)),
    "ReduceMean": lambda x: x.mean((1, 3), keepdim=True), "ReduceMax": lambda x: x.amax((1, 2)), "ReduceMin": lambda x: x.amin(3),
    "ReduceProd": lambda x: x.prod(2), "ReduceLogSumExp": lambda x: x.logsumexp(1, keepdim=True), "ReduceAll": lambda x: (x > 0.2).all(3),
    "ReduceAny": lambda x: (x > 0.8).any(3), "ArgMaxV2": lambda x: x.argmax(2), "ArgMin": lambda x: x.argmin(2),
    "ArgMaxWithValue": lambda x: x.max(1), "ArgMinWithValue": lambda x: x.min(1), "Cumsum": lambda x: x.cumsum(1),
    "Cumprod": lambda x: x.cumprod(1), "ReduceMeanD ReduceStdWithMean": lambda x: x.std((1, 3)), "Tile": lambda x: x.repeat(2, 1, 3, 1),
    "Transpose": lambda x: x.transpose(1, 3).contiguous(), "ReverseV2": lambda x: x.flip(1, 3), "Roll": lambda x: x.roll((1, 2), (1, 3)),
    "Tril": lambda x: x.tril(1), "Triu": lambda x: x.triu(1), "ConcatD": lambda x: torch.cat([x, 2 * x], 2),
    "Slice": lambda x: x[:, 1:, 2:5].clone(), "Cast": lambda x: (x * 9).int(), "Sort": lambda x: x.sort(3, descending=True),
    "AsStrided": lambda x: x.as_strided((2, 5), (3, 7), 4).clone(), "TopKV2": lambda x: x.topk(3, 2),
    "NonZero": lambda x: (x > 0.5).nonzero(), "GatherElements": lambda x: x.gather(2, below(x[:, :, :2], 6)),
    "ScatterElements": lambda x: x.scatter(2, below(x[:, :, :1], 6), 2 * x[:, :, :1]), "PadV3": lambda x: F.pad(x, (1, 2, 0, 3), value=7.0),
    "PadV3 PadV3Grad": lambda x: F.pad(x, (1, 2, 0, 3), mode="replicate"), "MirrorPad": lambda x: F.pad(x, (1, 2, 0, 3), mode="reflect"),
    "AvgPoolV2 AvgPoolV2Grad": lambda x: F.avg_pool2d(x, (3, 2), 2, (1, 0), count_include_pad=False),
    "AdaptiveAvgPool2d AdaptiveAvgPool2dGrad": lambda x: F.adaptive_avg_pool2d(x, (4, 3)),
    "MaxPoolWithArgmaxV1 MaxPoolGradWithArgmaxV1": lambda x: F.max_pool2d(x, 3, 2, 1),
}  # fmt: skip
TWO = {
    "Add": torch.add, "Sub": torch.sub, "Mul": torch.mul, "RealDiv": torch.div, "FloorMod": torch.remainder, "Mod": torch.fmod,
    "Maximum": torch.maximum, "Minimum": torch.minimum, "Pow": torch.pow, "Atan2": torch.atan2, "Xlogy": torch.xlogy,
    "LogAddExp": torch.logaddexp, "LogAddExp 2": torch.logaddexp2, "AxpyV2": lambda x, y: torch.add(x, y, alpha=0.75),
    "Equal": lambda x, y: (x > 0.5) == (y > 0.5), "NotEqual": lambda x, y: (x > 0.5) != (y > 0.5), "Less": torch.lt, "LessEqual": torch.le,
    "Greater": torch.gt, "GreaterEqual": torch.ge, "LogicalAnd": lambda x, y: torch.logical_and(x > 0.5, y > 0.5),
    "LogicalOr": lambda x, y: torch.logical_or(x > 0.5, y > 0.5), "Addcmul": lambda x, y: torch.addcmul(x, x, y, value=0.75),
    "Addcdiv": lambda x, y: torch.addcdiv(x, x, y, value=0.75), "Lerp": lambda x, y: torch.lerp(x, y.expand(IMAGE), 0.75),
    "MaskedFill": lambda x, y: x.masked_fill(y > 0.5, 7.0), "Select": lambda x, y: torch.where(x > 0.5, x, y),
}  # fmt: skip
INTEGERS = {
    "BitwiseAnd": torch.bitwise_and, "BitwiseOr": torch.bitwise_or, "BitwiseXor": torch.bitwise_xor, "LeftShift": lambda x, y: x << y,
    "RightShift": lambda x, y: x >> y,
}  # fmt: skip
CASES: dict[str, Case] = {
    **{name: Case(call) for name, call in ONE.items()},
    **{name: Case(call, (IMAGE, (3, 1, 8))) for name, call in TWO.items()},
    **{name: Case(lambda x, y, call=call: call((x * 100).int(), (y * 5).int()), (IMAGE, IMAGE)) for name, call in INTEGERS.items()},
    "FloorDiv": plain(torch.floor_divide, IMAGE, (3, 1, 8)),
    "GatherV2": plain(lambda x: x.index_select(2, below(x[0, 0, 0], 6))),
    "MaskedSelect": plain(lambda x: x.masked_select(x > 0.5)),
    "Pack": plain(lambda x: torch.stack([x, 2 * x], 2)),
    "Im2col": plain(lambda x: F.unfold(x, (2, 3), (2, 1), (1, 0), (2, 2))),
    "Renorm": plain(lambda x: x.renorm(2, 1, 2.0)),
    "Conv2D Conv2DBackpropInput Conv2DBackpropFilter": layer(lambda: nn.Conv2d(3, 6, (3, 2), (2, 1), (1, 1), (1, 2), groups=3)),
    "Conv2DTranspose": layer(lambda: nn.ConvTranspose2d(3, 4, (3, 2), (2, 1), (1, 0))),
    "Conv3D Conv3DBackpropInput Conv3DBackpropFilter": layer(lambda: nn.Conv3d(3, 4, (3, 2, 2), (1, 2, 1), (1, 0, 1)), VOLUME),
    "Conv3DTranspose": layer(lambda: nn.ConvTranspose3d(3, 4, 2, (1, 2, 1)), VOLUME),
    "BNTrainingReduce BNTrainingUpdate BNTrainingUpdateGrad BNTrainingReduceGrad": layer(lambda: nn.BatchNorm2d(3)),
    "BN3DTrainingReduce BN3DTrainingUpdate BN3DTrainingUpdateGrad BN3DTrainingReduceGrad": layer(lambda: nn.BatchNorm3d(3), VOLUME),
    "BNInfer BNInferGrad": layer(lambda: nn.BatchNorm2d(3), training=False),
    "AvgPool3D AvgPool3DGrad": Case(lambda x: F.avg_pool3d(x, (2, 3, 2), (1, 2, 2), 1, count_include_pad=False), (VOLUME,)),
    "MaxPool3D MaxPool3DGrad": Case(lambda x: F.max_pool3d(x, 2), (VOLUME,)),
    "MatMul": Case(lambda x, y, b: torch.addmm(b, x, y), ((5, 4), (4, 3), (3,))),
    "MatMul 2": layer(lambda: nn.Linear(4, 3), (5, 4)),
    "MatMulV2": Case(torch_npu.npu_linear, ((16, 32), (48, 32), (48,)), F.linear),
    "BatchMatMul": Case(lambda x, y: x @ y.transpose(1, 2), ((2, 5, 4), (2, 3, 4))),
    "MatrixTriangularSolve": plain(lambda a, b: [torch.triangular_solve(b, a, upper=u)[0] for u in (True, False)], (3, 3), (3, 2)),
    "LpNormReduceV2 LpNormUpdateV2": Case(
        lambda x: [torch.linalg.vector_norm(x, p, (1, 3)) for p in (0, 0.5, 1, 2, 2.5, -1, math.inf, -math.inf)] + [torch.norm(x, 2.5)]
    ),
    "Cdist CdistGrad": Case(lambda x, y: [torch.cdist(x, y, p=p) for p in (0.0, 0.5, 1.0, 2.0, 3.0, math.inf)], ((2, 6, 5), (2, 4, 5))),
    "NLLLoss NLLLossGrad": Case(
        lambda x: [F.nll_loss(x, below(x[:, 0], 4), reduction=r, ignore_index=1) for r in ("none", "mean", "sum")], (MATRIX,)
    ),
    "LayerNormV3": plain(
        lambda x, w, b: torch_npu.npu_layer_norm_eval(x, (8,), w, b, 1e-3), IMAGE, (8,), (8,),
        expected=lambda x, w, b: F.layer_norm(x, (8,), w, b, 1e-3),
    ),
    "ViewCopy": plain(lambda x: torch.zeros(2, 3, 6, 16, device=x.device, dtype=x.dtype)[..., ::2].copy_(x)),
    "GIoU GIoUGrad": Case(lambda x, y: torch_npu.npu_giou(x, y, True), ((4, 6), (4, 6)), partial(overlap, "giou")),
    "DIoU DIoUGrad": Case(lambda x, y: torch_npu.npu_diou(x, y, True), ((4, 6), (4, 6)), partial(overlap, "diou")),
    "CIoU CIoUGrad": Case(lambda x, y: torch_npu.npu_ciou(x, y, True, False), ((4, 6), (4, 6)), partial(overlap, "ciou")),
    "BroadcastTo": plain(lambda x: torch_npu.npu_broadcast(x[:, :1], (2, 7, 6, 8)), expected=lambda x: x[:, :1].expand(2, 7, 6, 8)),
    "StridedSlice": plain(
        lambda x: torch_npu.npu_indexing(x, [0, 0, 1, 0], [2, 3, 6, 8], [1, 2, 2, 3]), expected=lambda x: x[:, ::2, 1::2, ::3]
    ),
    "Slice 2": plain(lambda x: torch_npu.npu_slice(x, [0, 1, 2, 3], [2, 2, 3, 4]), expected=lambda x: x[:, 1:, 2:5, 3:7]),
    "Pad": plain(lambda x: torch_npu.npu_pad(x, [0, 1, 1, 0, 2, 0, 0, 3]), expected=lambda x: F.pad(x, (0, 3, 2, 0, 1, 0, 0, 1))),
    "ConfusionTransposeD": Case(
        lambda x: torch_npu.npu_confusion_transpose(x, [1, 0], [36, 8], False), expected=lambda x: x.reshape(36, 8).t()
    ),
    "SortV2": plain(lambda x: torch_npu.npu_sort_v2(x, 3, True), expected=lambda x: x.sort(3, descending=True)[0]),
    "OneHotD": plain(
        lambda x: torch_npu.npu_one_hot(below(x, 4).int(), -1, 4, 5, -1), (7,), expected=lambda x: F.one_hot(below(x, 4), 4) * 6.0 - 1
    ),
    "FastGelu FastGeluGrad": Case(torch_npu.npu_fast_gelu, expected=lambda x: x * torch.sigmoid(1.702 * x)),
    "Swish SwishGrad": Case(torch_npu.npu_silu, expected=F.silu),
    "SignBitsPack SignBitsUnpack": plain(
        lambda x: torch_npu.npu_sign_bits_unpack(torch_npu.npu_sign_bits_pack(x - 0.5, 1).flatten(), 1, torch.float32), (24,),
        expected=lambda x: (x - 0.5).sign()[None],
    ),
    "MaskedFillRange": plain(
        lambda x, v: torch_npu.npu_masked_fill_range(x, *(torch.tensor([[i, i + 1, i + 2]]).int().npu() for i in (0, 2)), v, 1),
        (3, 4), (1,), expected=lambda x, v: torch.where(torch.tensor([[1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 1, 1]]).bool(), v, x),
    ),
    "ScaledMaskedSoftmax ScaledMaskedSoftmaxGrad": Case(
        lambda x: torch_npu.npu_scaled_masked_softmax(x, x[:1, :1] > 0.6, 0.5),
        expected=lambda x: (x * 0.5).masked_fill(x[:1, :1] > 0.6, -math.inf).softmax(-1),
    ),
    "SoftmaxCrossEntropyWithLogits": Case(
        lambda x, y: torch_npu.npu_softmax_cross_entropy_with_logits(x, y.detach().softmax(1)), (MATRIX, MATRIX),
        lambda x, y: -(y.detach().softmax(1) * x.log_softmax(1)).sum(1),
    ),
    "DropOutDoMask StatelessDropOutGenMask": plain(lambda x: survivors(x, F.dropout(x, 0.25)), (4000,), expected=lambda x: torch.ones(2)),
    "DropOutDoMaskV3 DropOutGenMaskV3": plain(
        lambda x: survivors(x, torch_npu.dropout_with_byte_mask(x, 0.25, True)), (4000,), expected=lambda x: torch.ones(2)
    ),
    "ApplyAdamD": plain(
        adam(lambda grad, out: torch_npu.npu_apply_adam(0.729, 0.97, 0.1, 0.9, 0.99, 1e-6, grad, False, False, out=out)),
        *[(20,)] * 4, expected=lambda v, m, u, g: after_adam(v, m, u, g, 0),
    ),
    "ApplyAdamW": plain(
        adam(lambda grad, out: torch_npu.npu_apply_adam_w(0.729, 0.97, 0.1, 0.01, 0.9, 0.99, 1e-6, grad, None, False, False, out=out)),
        *[(20,)] * 4, expected=lambda v, m, u, g: after_adam(v * 0.999, m, u, g, 1),
    ),
    "RotaryMul RotaryMulGrad": Case(
        torch_npu.npu_rotary_mul, ((2, 3, 2, 64), (1, 1, 2, 64), (1, 1, 2, 64)),
        lambda x, c, s: x * c + torch.cat([-x[..., 32:], x[..., :32]], -1) * s,
    ),
    "BoundingBoxEncode BoundingBoxDecode": plain(
        lambda x, y: (encoded(x, y), torch_npu.npu_bounding_box_decode(boxes(x), encoded(x, y), *MEANS, *DEVIATIONS, [50, 60], 0.01)),
        (6, 4), (6, 4), expected=lambda x, y: (plain_code(x, y), torch.minimum(boxes(y), torch.tensor([59.0, 49.0, 59.0, 49.0]))),
    ),
    "DynamicRNN DynamicRNNGrad": layer(lambda: nn.LSTM(4, 5, 2, bidirectional=True), (3, 2, 4), (4, 2, 5), (4, 2, 5)),
    "DynamicRNN DynamicRNNGrad 2": layer(Packed, (3, 2, 4)),
    "DynamicGRUV2 DynamicGRUV2Grad": layer(lambda: nn.GRU(4, 5, 2, bidirectional=True), (3, 2, 4), (4, 2, 5)),
    "DynamicRNNV2 DynamicRNNV2Grad": layer(lambda: nn.LSTMCell(4, 5), (3, 4), (3, 5), (3, 5)),
}  # fmt: skip

TOLERANCES = {torch.float32: 1e-5, torch.float16: 5e-3, torch.bfloat16: 2e-2}


def tensors(result: Any) -> list[Tensor]:
    return [result] if isinstance(result, Tensor) else [t for part in result for t in tensors(part)]


def outcome(call: Callable[..., Any], inputs: list[Tensor], device: str, dtype: torch.dtype, differentiable: bool = True) -> list[Tensor]:
    """Return the results and the gradients of the inputs, on the CPU."""
    leaves = [x.to(device, dtype).requires_grad_(differentiable) for x in inputs]
    results = tensors(call(*leaves))
    roots = [t for t in results if t.requires_grad]
    weights = [torch.arange(1.0, t.numel() + 1).sin().reshape(t.shape).to(device, t.dtype) if t.dim() else None for t in roots]
    gradients = torch.autograd.grad(roots, leaves, weights, allow_unused=True) if roots else ()
    if device == "npu":
        torch.npu.synchronize()
    return [t.detach().cpu() for t in (*results, *gradients) if t is not None]


def difference(case: Case, dtype: torch.dtype = torch.float32) -> str:
    """Return the result or gradient in which the function differs from what is expected."""
    torch.manual_seed(0)
    inputs = [(torch.rand(size) * 0.8 + 0.1).to(dtype) for size in case.sizes]
    exact = outcome(case.expected or case.call, inputs, "cpu", torch.float64, case.differentiable)
    got = outcome(case.call, inputs, "npu", dtype, case.differentiable)
    if [t.shape for t in got] != [t.shape for t in exact]:
        return f"shapes {[t.shape for t in got]}, expected {[t.shape for t in exact]}"
    for i, (a, b) in enumerate(zip([t.double() for t in got], [t.double() for t in exact], strict=True)):
        largest = b[b.isfinite()].abs().amax() if b.numel() else 0
        if not torch.allclose(a, b, rtol=0, atol=TOLERANCES[dtype] * (1 + largest), equal_nan=True):
            return f"number {i}: {a}, expected {b}"
    return ""


def called(trace: Path, place: int) -> tuple[set[str], int]:
    """Return the tasks that are in a trace from a place on, and the place at its end."""
    torch.npu.synchronize()
    with trace.open("rb") as file:
        file.seek(place)
        lines = [json.loads(line) for line in file]
        return {line["name"] for line in lines if line["kind"] == "task"}, file.tell()


def half_image(case: Case) -> Case:
    """Return the case of an image that is the result of a convolution."""
    as_it_is = torch.eye(IMAGE[1]).reshape(IMAGE[1], IMAGE[1], 1, 1)
    return Case(lambda x, *rest: case.call(F.conv2d(x, as_it_is.to(x.device, x.dtype)), *rest), case.sizes)


def main(mode: str) -> None:
    """Print for each case in what it differs, and which tasks ran: compiled, or by default in half precision behind a convolution."""
    is_half = mode == "half"
    if not is_half:
        torch.npu.set_compile_mode(jit_compile=True)
    cases = {name: half_image(case) for name, case in CASES.items() if name in ONE | TWO} if is_half else CASES
    trace, outcomes = Path(os.environ["TORCH_ACLNN_HOST_TRACE"]), {}
    place = called(trace, 0)[1]
    for name, case in cases.items():
        try:
            found = difference(case, torch.float16 if is_half else torch.float32)
            names, place = called(trace, place)
        except Exception as error:
            found, names = f"{type(error).__name__}: {error}", set()
        outcomes[name] = found, sorted(names)
    print(json.dumps(outcomes))
