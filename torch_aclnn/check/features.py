"""Features of a training in addition to single calls: indices of a pooling, private formats, other streams and devices, graphs.

Those that compare bits do so with deterministic algorithms, because a right device may otherwise give other bits in each call.
"""

import ctypes
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
import torch_npu
from torch_aclnn import functional
from torch_aclnn import nn as ours
from torch import Tensor, nn
from torch_aclnn.check import error, values
from torch_aclnn.check.judgement import ALLOWED, Deviation
from torch_aclnn.check.records import FAILED, NOT_OFFERED, PASSED, Check
from torch_aclnn.check.samples import random

# Older versions of CANN lack these functions of libascendcl. There torch_npu can begin no capture, and leaves its allocator unusable.
_OF_CAPTURES = ("aclmdlRICaptureBegin", "aclmdlRICaptureGetInfo", "aclmdlRICaptureEnd", "aclmdlRIExecuteAsync")

_PRIVATE_FORMATS = {3: "NC1HWC0", 4: "FRACTAL_Z", 29: "FRACTAL_NZ", 32: "NDC1HWC0", 33: "FRACTAL_Z_3D"}

# A convolution in float16 between the layers rounds often; a wrong format moves elements, which is off by thousands.
_LIMIT_OF_CONVOLUTIONS = 32.0


def unpooling(mode: int) -> Check:
    """Pool volumes, unpool them by the indices, which torch_npu returns as int32, and differentiate both."""
    volume = torch.randperm(2 * 4 * 6 * 8, generator=torch.Generator().manual_seed(1)).view(1, 2, 4, 6, 8)
    weights = random((1, 2, 4, 6, 8), torch.float32)

    def answer(status: str, detail: str | None = None, message: str | None = None) -> Check:
        return Check("unpooling", "max_unpool3d", status, mode, "float32", case="unpooling", detail=detail, message=message)

    def unpool(by: Callable[..., Tensor], x: Tensor, pooled: Tensor, indices: Tensor) -> tuple[Tensor, Tensor]:
        result = by(pooled, indices, 2)
        (gradient,) = torch.autograd.grad(result, x, weights.to(result))
        return result.detach().cpu().double(), gradient.cpu().double()

    x, exact_x = volume.float().to("npu").requires_grad_(), volume.double().requires_grad_()
    try:
        pooled, indices = nn.functional.max_pool3d(x, 2, return_indices=True)
        torch_npu.npu.synchronize()
    except RuntimeError as problem:
        return answer(NOT_OFFERED, message=f"torch_npu's own pooling: {problem}")
    detail = f"indices {values.name_of(indices.dtype)}"
    if indices.is_floating_point() or not values.is_listed("max_unpool3d", torch.float32):
        return answer(NOT_OFFERED, detail, "this product does not list max_unpool3d, or its pooling gives no indices")
    found = unpool(functional.max_unpool3d, x, pooled, indices)
    exact = unpool(nn.functional.max_unpool3d, exact_x, *nn.functional.max_pool3d(exact_x, 2, return_indices=True))
    is_right = all(map(torch.equal, found, exact))
    return answer(PASSED if is_right else FAILED, detail, None if is_right else "output or gradient are not those of the CPU")


def private_formats(mode: int) -> Check:
    """Train half convolutions with our layers between them while torch_npu may keep results in private formats."""
    before = torch_npu._C._npu_getOption("ALLOW_INTERNAL_FORMAT")  # the setting itself cannot be read
    torch_npu.npu.config.allow_internal_format = True
    try:
        return _private_formats(mode)
    finally:
        torch_npu.npu.config.allow_internal_format = before == b"enable"


def _private_formats(mode: int) -> Check:
    found: dict[str, Any] = {"mode": mode, "dtype": "float16", "case": "half convolutions"}
    try:
        theirs, number = _train_convolutions(nn, "npu", torch.float16)
    except RuntimeError as problem:
        return Check("private formats", "avg_pool2d", NOT_OFFERED, **found, message=f"with torch_npu's own layers: {problem}")
    results, _ = _train_convolutions(ours, "npu", torch.float16)
    exact, _ = _train_convolutions(nn, "cpu", torch.float64)
    ulp, torchs_ulp = (max(map(error.in_ulp_of_largest, of, exact)) for of in (results, theirs))
    share = max(map(error.share_of_largest, results, exact))
    deviation = Deviation(ulp, _LIMIT_OF_CONVOLUTIONS, share, ALLOWED[torch.float16], torchs_ulp)
    found |= {"error_ulp": values.finite(ulp), "limit_ulp": deviation.limit, "torchs_ulp": values.finite(torchs_ulp)}
    found |= {"detail": _PRIVATE_FORMATS.get(number, f"plain format {number}"), "message": deviation.message}
    return Check("private formats", "avg_pool2d", deviation.status, **found)


def _train_convolutions(package: Any, device: str, dtype: torch.dtype) -> tuple[tuple[Tensor, Tensor], int]:
    """Return output and gradient of two convolutions with padding and pooling of the package between them, and the first one's format."""
    torch.manual_seed(5)
    first, second = (nn.Conv2d(16, 16, 3).half().to(device=device, dtype=dtype) for _ in range(2))
    x = random((2, 16, 12, 12), torch.float16).to(device=device, dtype=dtype).requires_grad_()
    inner = first(x)
    output = second(package.AvgPool2d(2)(package.ReflectionPad2d(1)(inner)))
    (gradient,) = torch.autograd.grad(output, x, random(tuple(output.shape), torch.float16).to(output))
    return (output.detach().cpu(), gradient.cpu()), torch_npu.get_npu_format(inner) if device == "npu" else 0


def _gradient(x: Tensor) -> Tensor:
    (gradient,) = torch.autograd.grad(functional.avg_pool2d(x, 3, 1, 1).square().sum(), x)
    return gradient


def _image(device: str) -> Tensor:
    return random((2, 8, 32, 32), torch.float32).to(device).requires_grad_()


@values.deterministic_algorithms()
def stream(mode: int) -> Check:
    """Compute on a second stream that waits for the first, and compare the bits."""
    x = _image("npu")
    expected = _gradient(x).cpu()
    other = torch_npu.npu.Stream()
    other.wait_stream(torch_npu.npu.current_stream())
    with torch_npu.npu.stream(other):
        found = _gradient(x)
    torch_npu.npu.current_stream().wait_stream(other)
    return _same_bits("stream", mode, "second stream", found.cpu(), expected)


@values.deterministic_algorithms()
def device(mode: int) -> Check:
    """Compute on the second device, while the first is current, and compare the bits."""
    if torch_npu.npu.device_count() < 2:
        return Check("device", None, NOT_OFFERED, mode, case="second device", message="one device")
    return _same_bits("device", mode, "second device", _gradient(_image("npu:1")).cpu(), _gradient(_image("npu:0")).cpu())


@values.deterministic_algorithms()
def graph(mode: int) -> Check:
    """Capture one operator in an NPUGraph, replay it with other values, and compare the bits.

    It is not offered where torch_npu's own operator for the same cannot be captured either, whatever the reason.
    """
    missing = [name for name in _OF_CAPTURES if not hasattr(ctypes.CDLL("libascendcl.so"), name)]
    if missing:
        return Check("graph", "avg_pool2d", NOT_OFFERED, mode, case="NPUGraph", message=f"CANN does not have {missing[0]}")
    size, windows = (2, 8, 32, 32), ((3, 3), (1, 1), (1, 1))
    first, second = (random(size, torch.float32).to("npu") * factor for factor in (1.0, 3.0))
    theirs, ours = torch.ops.aten.avg_pool2d_backward.default, torch.ops.torch_aclnn.avg_pool2d_backward.default
    try:
        _replayed(partial(theirs, first, first, *windows, False, True, None))
    except RuntimeError as problem:
        return Check("graph", "avg_pool2d", NOT_OFFERED, mode, case="NPUGraph", message=f"with torch_npu's own operator: {problem}")
    expected = ours(second, size, *windows).cpu()
    found = _replayed(partial(ours, first, size, *windows), lambda: first.copy_(second))
    return _same_bits("graph", mode, "NPUGraph", found, expected)


def _replayed(call: Callable[[], Tensor], change: Callable[[], Any] = lambda: None) -> Tensor:
    """Capture the call, replay it after the change, and return its result."""
    call()  # a first call may load a kernel, which must not be captured
    captured, current = torch_npu.npu.NPUGraph(), torch_npu.npu.current_stream()
    try:
        with torch_npu.npu.graph(captured):
            result = call()
    finally:
        torch_npu.npu.set_stream(current)  # after a capture that did not begin, torch_npu leaves its stream current
    change()
    captured.replay()
    torch_npu.npu.synchronize()
    return result.cpu()


def _same_bits(check: str, mode: int, case: str, found: Tensor, expected: Tensor) -> Check:
    differing = int((found != expected).sum())
    message = f"{differing} elements differ from those of the first device's default stream" if differing else None
    return Check(check, "avg_pool2d", FAILED if differing else PASSED, mode, "float32", case=case, message=message)
