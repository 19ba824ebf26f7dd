"""Whole layers, forward and backward on ``npu``, compared with torch's own on the CPU in float64 and torch_npu's own on the device.

A bare operator is right if it computes its definition from its arguments. A layer is right only if these arguments are also what
the operator takes them for, such as a statistic that torch_npu's forward returned.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch_aclnn
import torch
from torch import Tensor, nn
from torch_aclnn._operators import OPERATORS
from torch_aclnn.check import error, values
from torch_aclnn.check.judgement import ALLOWED, ALLOWED_OF_STATISTICS, Deviation
from torch_aclnn.check.records import NOT_OFFERED, PASSED, Check
from torch_aclnn.check.samples import random

DTYPES = (torch.float32, torch.float16, torch.bfloat16)
DTYPES_OF_NETWORKS = DTYPES[:2]

# What the engine keeps, in units in the last place of a result's largest value. Sums over a plane leave roundings behind, in any order.
LIMITS = {torch.float64: 64.0, torch.float32: 64.0, torch.float16: 2.0, torch.bfloat16: 2.0}


@dataclass(frozen=True)
class Layer:
    """A module with its arguments and the shape of its input.

    Attributes:
        module: its name in :mod:`torch.nn` and :mod:`torch_aclnn.nn`.
        operator: whose backward it calls.
        network: the network and place of a layer of these sizes, or None for a small one.

    """

    module: str
    operator: str
    arguments: tuple[Any, ...]
    shape: tuple[int, ...]
    network: str | None = None


_PADDINGS = tuple(operator for operator in OPERATORS if operator.family == "padding")
_NETWORKS_THAT_PAD = {
    1: ((512,), (4, 1, 16000), "spectrogram"),
    2: ((1,), (1, 128, 64, 64), "CycleGAN"),
    3: ((1,), (1, 8, 16, 64, 64), "volumes"),
}

LAYERS = (
    Layer("AvgPool1d", "avg_pool2d", (3, 2, 1), (2, 3, 9)),
    Layer("AvgPool2d", "avg_pool2d", ((3, 2), (2, 1), 1), (2, 3, 9, 8)),
    Layer("AvgPool3d", "avg_pool3d", ((3, 2, 2), (2, 1, 2), 1), (2, 3, 5, 6, 4)),
    Layer("AdaptiveAvgPool1d", "adaptive_avg_pool2d", (3,), (2, 3, 7)),
    Layer("AdaptiveAvgPool2d", "adaptive_avg_pool2d", ((3, 2),), (2, 3, 7, 5)),
    Layer("AdaptiveAvgPool3d", "adaptive_avg_pool3d", ((2, 3, 2),), (1, 2, 5, 6, 4)),
    *(
        Layer(name, operator.name, ((2, 1, 3, 0, 1, 2)[: 2 * int(name[-2])],), (2, 3, 4, 6, 7)[: 2 + int(name[-2])])
        for operator in _PADDINGS
        for name in operator.modules
    ),
    Layer("MaxUnpool1d", "max_unpool2d", (2,), (2, 3, 6)),
    Layer("MaxUnpool2d", "max_unpool2d", (2,), (2, 3, 6, 4)),
    Layer("MaxUnpool3d", "max_unpool3d", (2,), (2, 3, 4, 6, 4)),
    Layer("BatchNorm1d", "batch_norm_elemt", (5,), (8, 5)),
    Layer("BatchNorm2d", "batch_norm_elemt", (3,), (4, 3, 5, 6)),
    Layer("BatchNorm3d", "batch_norm_elemt", (3,), (2, 3, 2, 4, 3)),
    Layer("SyncBatchNorm", "batch_norm_elemt", (3,), (4, 3, 5, 6)),
    Layer("InstanceNorm1d", "batch_norm_elemt", (5,), (3, 5, 6)),
    Layer("InstanceNorm2d", "batch_norm_elemt", (3,), (4, 3, 5, 6)),
    Layer("InstanceNorm3d", "batch_norm_elemt", (3,), (2, 3, 2, 4, 3)),
)

NETWORKS = (
    Layer("AvgPool2d", "avg_pool2d", (2, 2), (2, 64, 112, 112), "DenseNet, pooling"),
    Layer("AvgPool2d", "avg_pool2d", (3, 1, 1), (2, 64, 35, 35), "Inception, pooling"),
    Layer("AvgPool2d", "avg_pool2d", (7,), (4, 256, 7, 7), "MobileNet, head"),
    Layer("AdaptiveAvgPool2d", "adaptive_avg_pool2d", (1,), (4, 512, 7, 7), "ResNet, head"),
    Layer("AdaptiveAvgPool2d", "adaptive_avg_pool2d", (7,), (2, 128, 14, 14), "VGG, head"),
    Layer("AdaptiveAvgPool2d", "adaptive_avg_pool2d", (6,), (1, 128, 60, 60), "PSPNet, pyramid"),
    Layer("AdaptiveAvgPool3d", "adaptive_avg_pool3d", (1,), (2, 256, 4, 7, 7), "R3D, head"),
    Layer("AvgPool3d", "avg_pool3d", ((1, 2, 2),), (1, 32, 8, 56, 56), "video, spatial pooling"),
    Layer("ReflectionPad2d", "reflection_pad2d", (3,), (1, 3, 256, 256), "CycleGAN, first padding"),
    *(
        Layer(operator.modules[0], operator.name, arguments, shape, f"{network}, {operator.mode}")
        for operator in _PADDINGS
        for arguments, shape, network in [_NETWORKS_THAT_PAD[operator.dims]]
    ),
    Layer("MaxUnpool2d", "max_unpool2d", (2,), (1, 64, 56, 56), "SegNet"),
    Layer("MaxUnpool3d", "max_unpool3d", (2,), (1, 16, 16, 56, 56), "SegNet of volumes"),
    Layer("BatchNorm2d", "batch_norm_elemt", (64,), (2, 64, 112, 112), "ResNet, first norm"),
    Layer("BatchNorm2d", "batch_norm_elemt", (512,), (4, 512, 7, 7), "ResNet, last norm"),
    Layer("BatchNorm3d", "batch_norm_elemt", (32,), (1, 32, 16, 56, 56), "3D U-Net, norm"),
)


def check_layer(layer: Layer, dtype: torch.dtype, mode: int) -> Check:
    """Compare output, gradients and running statistics with those of torch's own layer on the CPU in float64.

    In mode 2 a refusal of torch_npu's own operators would come late and end the process. So what no page lists is not tried there, and
    torch_npu's own layer only if ours is beyond its limit.

    Args:
        layer: what is checked.
        dtype: of its input; parameters and statistics of a batch norm are float32, as under autocast.
        mode: of the task queue.

    """
    name = "layer" if layer.network is None else "network"
    case = layer.network or layer.module
    listed = values.is_listed(layer.operator, dtype)
    found: dict[str, Any] = {"mode": mode, "dtype": values.name_of(dtype), "case": case, "listed": listed}
    if mode == 2 and not listed:
        return Check(name, layer.operator, NOT_OFFERED, **found, message="not tried in mode 2, where a refusal would end the process")
    exact = _run(nn, layer, "cpu", dtype, torch.float64)
    try:
        results = _run(torch_aclnn.nn, layer, "npu", dtype, dtype)
    except RuntimeError as problem:
        return values.refused(name, layer.operator, dtype, problem, found)
    what, worst = _worst(layer, dtype, results, exact, {})
    if mode != 2 or worst.status != PASSED:
        try:
            theirs = _run(nn, layer, "npu", dtype, dtype)
            what, worst = _worst(layer, dtype, results, exact, theirs)
            found |= _beside_torchs(results, theirs, exact)
        except RuntimeError as problem:
            found["detail"] = f"torch_npu's own: {problem}".partition("\n")[0]
    message = f"the {what} has {worst.message}" if worst.message else None
    return Check(name, layer.operator, worst.status, **found, error_ulp=values.finite(worst.ulp), limit_ulp=worst.limit, message=message)


def _worst(
    layer: Layer, dtype: torch.dtype, results: dict[str, Tensor], exact: dict[str, Tensor], theirs: dict[str, Tensor]
) -> tuple[str, Deviation]:
    """Return the result that is worst, and how far it is from the exact one; `theirs` may be empty."""
    deviations = {what: _deviation(layer, dtype, what, result, exact[what], theirs.get(what)) for what, result in results.items()}
    return max(deviations.items(), key=lambda item: item[1].severity)


def _deviation(layer: Layer, dtype: torch.dtype, what: str, result: Tensor, exact: Tensor, theirs: Tensor | None) -> Deviation:
    """Return how far one of a layer's results is from the exact one, in units in the last place of its largest value."""
    unit = torch.float16 if values.may_use_float16(layer.operator, dtype) else result.dtype
    # op-plugin allows a larger error of half types in the statistic, on which all results depend, and of all types in the sum of products.
    is_statistic = layer.operator == "batch_norm_elemt" and (dtype != torch.float32 or what == "gradient of the weight")
    return Deviation(
        error.in_ulp_of_largest(result.to(unit), exact),
        LIMITS[unit],
        error.share_of_largest(result, exact),
        ALLOWED_OF_STATISTICS if is_statistic else ALLOWED[unit],
        None if theirs is None else error.in_ulp_of_largest(theirs.to(unit), exact),
    )


def _beside_torchs(results: dict[str, Tensor], theirs: dict[str, Tensor], exact: dict[str, Tensor]) -> dict[str, Any]:
    """Return the differences of torch_npu's own gradient of the input from the exact one, and from ours."""
    ours, theirs_of_input = (found["gradient of the input"] for found in (results, theirs))
    error_of_theirs = error.in_ulp_of_largest(theirs_of_input, exact["gradient of the input"])
    difference = error.in_ulp_of_largest(ours, theirs_of_input.double())
    return {"torchs_ulp": values.finite(error_of_theirs), "difference_ulp": values.finite(difference)}


def _run(package: Any, layer: Layer, device: str, dtype: torch.dtype, computed: torch.dtype) -> dict[str, Tensor]:
    """Return results on the CPU: output, gradients, and statistics of the running batch.

    Args:
        package: whose module it is.
        layer: which module, arguments and input.
        device: on which it runs.
        dtype: whose numbers the inputs are.
        computed: the dtype of the tensors; float64 holds the same numbers.

    """
    # torch's SyncBatchNorm is batch norm where there is one process.
    module = nn.BatchNorm2d if package is nn and layer.module == "SyncBatchNorm" else getattr(package, layer.module)
    model = module(*layer.arguments)
    parameters = torch.float64 if computed == torch.float64 else torch.float32
    with torch.no_grad():
        for _, state in _state(model):
            state.copy_(random(tuple(state.shape), torch.float32).abs() + 0.5)
    model.to(device=device, dtype=parameters)
    input, further = input_of(layer, dtype)
    x = input.to(device=device, dtype=computed).requires_grad_()
    output = model(x, *(t.to(device) for t in further))
    # Another shape gives other numbers: a gradient proportional to the input would cancel in a batch norm.
    output.backward(random((*output.shape, 1), dtype)[..., 0].to(device=device, dtype=computed))
    results = {"output": output, "gradient of the input": x.grad}
    results |= {f"gradient of the {name}": p.grad for name, p in model.named_parameters()}
    results |= {name.replace("_", " "): buffer for name, buffer in model.named_buffers() if buffer.is_floating_point()}
    return {what: result.detach().cpu() for what, result in results.items()}


def _state(model: nn.Module) -> Iterator[tuple[str, Tensor]]:
    yield from model.named_parameters()
    yield from ((name, buffer) for name, buffer in model.named_buffers() if buffer.is_floating_point())


def input_of(layer: Layer, dtype: torch.dtype) -> tuple[Tensor, tuple[Tensor, ...]]:
    """Return the input, far from a mean of 0 and a variance of 1, and what a module takes besides."""
    input = (random(layer.shape, torch.float32) * 3 + 2).to(dtype)
    if not layer.module.startswith("MaxUnpool"):
        return input, ()
    # The indices come from the CPU, because on npu max_pool2d returns a mask in their place.
    unpooled = (*layer.shape[:2], *(2 * size for size in layer.shape[2:]))
    pool = getattr(nn.functional, f"max_pool{len(layer.shape) - 2}d")
    return input, (pool(random(unpooled, torch.float32), 2, return_indices=True)[1],)
