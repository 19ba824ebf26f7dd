"""hyper_connections.cpp against definitions in float64."""

import ctypes

import pytest
import torch
import torch_npu
from checks import DEVICE, close, on_npu, there

from direct import call

EPSILON = 1e-3


def mixed_in(x, phi, alpha, bias, gamma):
    """The page's formula: the input of the layer, and what brings its result back."""
    n = x.shape[-2]
    flat = x.flatten(-2)
    normal = flat * torch.rsqrt(flat.square().mean(-1, keepdim=True) + EPSILON)
    normal = normal if gamma is None else normal * gamma.flatten()
    pre, post, *rest = (normal @ phi.mT).split([n, n, n * n][: len(alpha)], -1)
    pre = torch.sigmoid(alpha[0] * pre + bias[:n]) + EPSILON
    post = 2 * torch.sigmoid(alpha[1] * post + bias[n : 2 * n])
    res = (alpha[2] * rest[0] + bias[2 * n :]).unflatten(-1, (n, n)) if rest else torch.zeros(1).double()
    return (pre.unsqueeze(-1) * x).sum(-2), post, res


@pytest.mark.parametrize("batch", [(3,), (2, 3)], ids=["tokens", "batch"])
@pytest.mark.parametrize(("version", "parts", "scaled"), [("", 3, True), ("V2", 3, False), ("", 2, True)])
def test_mixing_in(batch, version, parts, scaled):
    n, features = 4, 5
    columns = 2 * n + (n * n if parts == 3 else 0)
    x = torch.randn(*batch, n, features).half()
    phi, alpha, bias = torch.randn(columns, n * features), torch.randn(parts), torch.randn(columns)
    gamma = torch.randn(n, features) if scaled else None
    leaves = [None if t is None else t.double().requires_grad_() for t in (x, phi, alpha, bias, gamma)]
    expected = mixed_in(*leaves)
    sizes = [(features,), (n,), (n, n) if parts == 3 else None, (), (columns,), (n,)]
    outputs = [torch.empty((1,) if size is None else (*batch, *size), device=DEVICE) for size in sizes]
    outputs[0] = outputs[0].half()
    on_device = x.to(DEVICE), *there(phi, alpha)
    inner_precise = [0] if version else []
    call(f"aclnnMhcPre{version}", *on_device, bias, gamma, EPSILON, EPSILON, *inner_precise, *outputs)
    close(outputs[:3], expected, 3e-3)
    if parts == 2:
        return
    grads, of_x = [torch.randn(t.shape) for t in expected], torch.randn(x.shape).half()
    of_in = grads[0].half()
    got = [torch.empty_like(on_device[0]), *(torch.empty(t.shape, device=DEVICE) for t in (phi, alpha, bias, torch.empty(n, features)))]
    call(
        f"aclnnMhcPreBackward{version}", *on_device, of_in, *grads[1:], *outputs[3:], outputs[1], gamma, of_x, ctypes.c_float(EPSILON),
        *inner_precise, *got,
    )  # fmt: skip
    inputs = [t for t in leaves if t is not None]
    want = list(torch.autograd.grad(expected, inputs, [of_in.double(), *(g.double() for g in grads[1:])]))
    want[0] = want[0] + of_x.double()
    if gamma is None:
        want.append(torch.zeros(n, features).double())
    close(got, want, 5e-3)


@pytest.mark.parametrize("batch", [(3,), (2, 3)], ids=["tokens", "batch"])
@pytest.mark.parametrize("mixes", [True, False])
def test_mixing_out(batch, mixes):
    """The mix of the streams is that of op-plugin's tests: y[j] is the sum of res[i, j] x[i]."""
    x, out, grad = (torch.randn(*batch, *s).half() for s in ((4, 5), (5,), (4, 5)))
    res, post = torch.randn(*batch, 4, 4) if mixes else None, torch.randn(*batch, 4)
    leaves = [None if t is None else t.double().requires_grad_() for t in (x, res, out, post)]
    streams = torch.einsum("...ij,...id->...jd", leaves[1], leaves[0]) if mixes else leaves[0]
    expected = streams + leaves[3].unsqueeze(-1) * leaves[2].unsqueeze(-2)
    on_device = x.to(DEVICE), there(res)[0], out.to(DEVICE), post.to(DEVICE)
    close(torch_npu.npu_mhc_post(*on_device), expected, 5e-3)
    got = [torch.empty(t.shape, dtype=t.dtype, device=DEVICE) for t in (x, torch.empty(*batch, 4, 4), out, post)]
    call("aclnnMhcPostBackward", grad, *on_device, *got)
    if not mixes:
        del got[1]
    close(got, torch.autograd.grad(expected, [t for t in leaves if t is not None], grad.double()), 1e-2)


@pytest.mark.parametrize("iterations", [1, 4])
def test_sinkhorn(iterations):
    x, grad = torch.randn(2, 3, 4, 4), torch.randn(2, 3, 4, 4)
    leaf = x.double().requires_grad_()
    y = torch.softmax(leaf, -1) + EPSILON
    for step in range(1, 2 * iterations):
        y = y / (y.sum(-1 if step % 2 == 0 else -2, keepdim=True) + EPSILON)
    got, norms, sums = on_npu(torch_npu.npu_mhc_sinkhorn, x, eps=EPSILON, num_iters=iterations, out_flag=1)
    close(got, y)
    close(torch_npu.npu_mhc_sinkhorn_backward(grad.to(DEVICE), norms, sums), torch.autograd.grad(y, leaf, grad.double())[0])
