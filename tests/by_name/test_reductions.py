"""Reductions, norms, softmax, matrix products and dropout, called by name, against their definitions in double precision."""

import math

import pytest
import torch

from support.named_operators import Stored, run

TYPES = (torch.float32, torch.float16)


def drawn(*sizes, dtype=torch.float32):
    return (torch.rand(sizes, dtype=torch.float64) * 2 - 0.7).to(dtype)


def numbers(*values):
    return Stored(torch.tensor(values, dtype=torch.int64), on_host=True)


def close(got, expected):
    torch.testing.assert_close(got, expected.to(got.dtype), **({"rtol": 1e-5, "atol": 1e-6} if got.dtype == torch.float32 else {}))


def rows(x, reduce):
    """Reduce the last dimension by a function of a list."""
    return torch.tensor([reduce(row) for row in x.double().reshape(-1, x.shape[-1]).tolist()], dtype=torch.float64).reshape(x.shape[:-1])


REDUCTIONS = {
    "ReduceSum": math.fsum, "ReduceMean": lambda row: math.fsum(row) / len(row), "ReduceMax": max, "ReduceMin": min,
    "ReduceProd": math.prod, "ReduceLogSumExp": lambda row: math.log(math.fsum(map(math.exp, row))),
}  # fmt: skip


@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize("dtype", TYPES, ids=str)
@pytest.mark.parametrize("name", REDUCTIONS)
def test_reduction(acl, name, dtype, keep):
    x = drawn(3, 4, 5, dtype=dtype)
    out = torch.empty((1, 4, 1) if keep else (4,), dtype=dtype)
    (got,) = run(acl, name, [x, numbers(0, 2)], [out], keep_dims=keep)
    close(got, rows(x.permute(1, 0, 2).reshape(4, 15), REDUCTIONS[name]).reshape(out.shape))


def test_reductions_of_all_dimensions_and_of_masks(acl):
    x = drawn(3, 4)
    close(run(acl, "ReduceSum", [x, numbers()], [torch.empty(())])[0], torch.tensor(math.fsum(x.reshape(-1).tolist())))
    close(run(acl, "ReduceMeanD", [x], [torch.empty(3)], axes=[1])[0], rows(x, REDUCTIONS["ReduceMean"]))
    mask, out = x > 0, torch.empty(3, dtype=torch.bool)
    assert run(acl, "ReduceAll", [mask, numbers(1)], [out])[0].tolist() == [all(row) for row in mask.tolist()]
    assert run(acl, "ReduceAny", [mask, numbers(1)], [out])[0].tolist() == [any(row) for row in mask.tolist()]


def test_places_of_extremes(acl):
    x, out = drawn(3, 7), torch.empty(3, dtype=torch.int32)
    largest, smallest = ([row.index(pick(row)) for row in x.tolist()] for pick in (max, min))
    assert run(acl, "ArgMaxV2", [x, numbers(1)], [out])[0].tolist() == largest
    assert run(acl, "ArgMin", [x, numbers(1)], [out])[0].tolist() == smallest
    for name, places in (("ArgMaxWithValue", largest), ("ArgMinWithValue", smallest)):
        got = run(acl, name, [x], [out, torch.empty(3)], dimension=1, keep_dims=False)
        assert got[0].tolist() == places
        assert got[1].tolist() == [row[place] for row, place in zip(x.tolist(), places, strict=True)]


def test_running_sum_and_product(acl):
    x = drawn(3, 5)
    for name, step in (("Cumsum", lambda row: math.fsum(row)), ("Cumprod", math.prod)):
        (got,) = run(acl, name, [x, numbers(1)], [torch.empty_like(x)])
        close(got, torch.stack([rows(x[:, : i + 1], step) for i in range(5)], 1))


def norm_of(row, p):
    if p == math.inf:
        return max(map(abs, row))
    if p == -math.inf:
        return min(map(abs, row))
    if p == 0:
        return sum(value != 0 for value in row)
    return math.fsum(abs(value) ** p for value in row) ** (1 / p)


@pytest.mark.parametrize("p", [0.0, 0.5, 1.0, 2.0, 2.5, 3.0, -1.0, math.inf, -math.inf])
def test_norm_in_two_halves(acl, p):
    x = drawn(4, 7)
    order = float({math.inf: 2**31 - 1, -math.inf: -(2**31)}.get(p, p))
    (reduced,) = run(acl, "LpNormReduceV2", [x], [torch.empty(4)], p=order, axes=[1], keepdim=False, epsilon=0.0)
    close(run(acl, "LpNormUpdateV2", [reduced], [torch.empty(4)], p=order, epsilon=0.0)[0], rows(x, lambda row: norm_of(row, p)))


@pytest.mark.parametrize("p", [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, math.inf])
def test_distances_of_all_pairs(acl, p):
    x, y = drawn(2, 3, 1, 5).expand(2, 3, 4, 5).contiguous(), drawn(2, 1, 4, 5).expand(2, 3, 4, 5).contiguous()
    (got,) = run(acl, "Cdist", [x, y], [torch.empty(2, 3, 4)], p=-1.0 if p == math.inf else p)
    close(got, rows(x.double() - y.double(), lambda row: norm_of(row, p)))


@pytest.mark.parametrize("p", [1.0, 1.5, 2.0, 3.0, math.inf])
def test_gradient_of_distances_by_differences(acl, p):
    x, y, grad = drawn(3, 5).double(), drawn(4, 5).double(), drawn(3, 4).double()
    sizes = (3, 4, 5)

    def total(points):
        differences = points[:, None].expand(sizes) - y[None].expand(sizes)
        return float((rows(differences, lambda row: norm_of(row, p)) * grad).sum())

    def slope(i, j):
        step = torch.zeros_like(x)
        step[i, j] = 1e-6
        return (total(x + step) - total(x - step)) / 2e-6

    expected = torch.tensor([[slope(i, j) for j in range(5)] for i in range(3)])
    distances = rows(x[:, None].expand(sizes) - y[None].expand(sizes), lambda row: norm_of(row, p))
    wide = [t.expand(sizes).float().contiguous() for t in (grad[..., None], x[:, None], y[None], distances[..., None])]
    (got,) = run(acl, "CdistGrad", wide, [torch.empty(3, 5)], p=-1.0 if p == math.inf else p)
    torch.testing.assert_close(got, expected.float(), rtol=1e-4, atol=1e-5)


def test_points_that_coincide_have_no_gradient(acl):
    x = torch.ones(1, 1, 3)
    for p in (0.0, 0.5, 1.0, 2.0, -1.0):
        (got,) = run(acl, "CdistGrad", [torch.ones_like(x), x, x, torch.zeros_like(x)], [torch.ones(1, 3)], p=p)
        assert got.tolist() == [[0.0, 0.0, 0.0]]


def test_distances_within_one_set_and_scaled_rows(acl):
    x = drawn(4, 3)
    pairs = [norm_of((x[i].double() - x[j].double()).tolist(), 2) for i in range(4) for j in range(i + 1, 4)]
    close(run(acl, "Pdist", [x], [torch.empty(6)], p=2.0)[0], torch.tensor(pairs, dtype=torch.float64))
    (factors,) = run(acl, "Renorm", [x], [torch.empty(4, 1)], p=2.0, maxnorm=0.8, dim=0)
    norms = rows(x, lambda row: norm_of(row, 2))
    torch.testing.assert_close(factors[:, 0], torch.tensor([min(1, 0.8 / n) for n in norms.tolist()]), rtol=1e-5, atol=1e-6)


def softmax(row):
    weights = [math.exp(value) for value in row]
    return [weight / math.fsum(weights) for weight in weights]


@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_softmax_and_gradients(acl, dtype):
    x, grad = drawn(3, 5, dtype=dtype), drawn(3, 5, dtype=dtype)
    y = torch.tensor([softmax(row) for row in x.double().tolist()], dtype=torch.float64)
    out = [torch.empty_like(x)]
    close(run(acl, "SoftmaxV2", [x], out, axes=[-1])[0], y)
    close(run(acl, "LogSoftmaxV2", [x], out, axes=[1])[0], y.log())
    # The rows of the Jacobian: y_i (delta_ij - y_j), and delta_ij - y_j.
    given_y = y.to(dtype)
    exact_y = given_y.double()
    expected = torch.stack([exact_y[r] * (g - torch.dot(g, exact_y[r])) for r, g in enumerate(grad.double())])
    close(run(acl, "SoftmaxGrad", [given_y, grad], out, axes=[1])[0], expected)
    logarithm = y.log().to(dtype)
    expected = grad.double() - logarithm.double().exp() * grad.double().sum(1, keepdim=True)
    close(run(acl, "LogSoftmaxGrad", [grad, logarithm], out, axis=[1])[0], expected)


def test_softmax_of_what_a_mask_leaves(acl):
    x, grad, mask = drawn(2, 3, 5), drawn(2, 3, 5), torch.rand(1, 3, 5) < 0.3
    kept = [
        (row * 0.5).masked_fill(m, -math.inf).tolist()
        for row, m in zip(x.double().reshape(6, 5), mask.expand(2, 3, 5).reshape(6, 5), strict=True)
    ]
    y = torch.tensor([softmax(row) for row in kept], dtype=torch.float64).reshape(2, 3, 5)
    (got,) = run(acl, "ScaledMaskedSoftmax", [x, mask], [torch.empty_like(x)], scale=0.5, fixed_triu_mask=False)
    close(got, y)
    expected = 0.5 * y * (grad - (grad * y).sum(-1, keepdim=True))
    (got,) = run(acl, "ScaledMaskedSoftmaxGrad", [grad, y.float(), mask], [torch.empty_like(x)], scale=0.5, fixed_triu_mask=False)
    close(got, expected)


@pytest.mark.parametrize("dtype", TYPES, ids=str)
@pytest.mark.parametrize("transposed", [(False, False), (True, False), (False, True), (True, True)])
def test_products(acl, dtype, transposed):
    a, b, bias = drawn(2, 3, 5, dtype=dtype), drawn(2, 5, 4, dtype=dtype), drawn(4, dtype=dtype)
    expected = (a.double()[..., None] * b.double()[:, None]).sum(2)
    a, b = (t.transpose(1, 2).contiguous() if flag else t for t, flag in zip((a, b), transposed, strict=True))
    for name in ("BatchMatMul", "BatchMatMulV2"):
        (got,) = run(acl, name, [a, b], [torch.empty(2, 3, 4, dtype=dtype)], adj_x1=transposed[0], adj_x2=transposed[1])
        close(got, expected)
    for name in ("MatMul", "MatMulV2"):
        (got,) = run(
            acl, name, [a[0], b[0], bias], [torch.empty(3, 4, dtype=dtype)], transpose_x1=transposed[0], transpose_x2=transposed[1]
        )
        close(got, expected[0] + bias.double())


def test_decompositions(acl):
    a, b = drawn(4, 4) + 3 * torch.eye(4), drawn(4, 2)
    (inverse,) = run(acl, "MatrixInverse", [a], [torch.empty_like(a)], adjoint=False)
    close((inverse.double() @ a.double()).float(), torch.eye(4))
    q, r = run(acl, "Qr", [a], [torch.empty_like(a), torch.empty_like(a)], full_matrices=False)
    close((q.double() @ r.double()).float(), a)
    close((q.double().T @ q.double()).float(), torch.eye(4))
    assert torch.equal(r, r.triu())
    sign, logarithm = run(acl, "LogMatrixDeterminant", [a], [torch.empty(()), torch.empty(())])
    close((sign * logarithm.exp()), torch.tensor(float(torch.det(a.double())), dtype=torch.float64))
    for lower in (True, False):
        triangle = a.tril() if lower else a.triu()
        (x,) = run(acl, "MatrixTriangularSolve", [triangle, b], [torch.empty(4, 2)], lower=lower, adjoint=False)
        close((triangle.double() @ x.double()).float(), b)
    close(run(acl, "Trace", [a], [torch.empty(())])[0], torch.tensor(math.fsum(a[i, i].item() for i in range(4))))
    close(
        run(acl, "Dot", [b[:, 0], b[:, 1]], [torch.empty(())])[0], torch.tensor(math.fsum((b[:, 0].double() * b[:, 1].double()).tolist()))
    )


def test_normal_numbers_follow_from_key_and_counter(acl):
    def drawn(key, counter):
        algorithm = Stored(torch.tensor(1, dtype=torch.int32), on_host=True)
        inputs = [numbers(4000), numbers(key), numbers(0, counter), algorithm]
        return run(acl, "StatelessRandomNormalV2", inputs, [torch.empty(4000)])[0].double()

    x = drawn(7, 3)
    assert abs(x.mean()) < 0.07 and abs(x.std() - 1) < 0.05
    assert torch.equal(x, drawn(7, 3)) and not torch.equal(x, drawn(8, 3)) and not torch.equal(x, drawn(7, 4))


@pytest.mark.parametrize("kept", [0.0, 0.25, 0.75, 1.0])
def test_dropout_keeps_what_the_mask_has(acl, kept):
    x = torch.ones(4000)
    probability = Stored(torch.tensor([kept]), on_host=True)
    seed = [Stored(torch.tensor([7], dtype=torch.int32), on_host=True), Stored(torch.tensor([0], dtype=torch.int32), on_host=True)]
    place = torch.empty(512, dtype=torch.uint8)
    (mask,) = run(acl, "StatelessDropOutGenMask", [numbers(4000), probability, *seed, numbers(0, 3)], [place])
    bits = [bool(mask[i // 8] >> i % 8 & 1) for i in range(4000)]
    assert abs(sum(bits) / 4000 - kept) < 0.05
    (got,) = run(acl, "DropOutDoMask", [x, mask, probability], [torch.empty_like(x)])
    close(got, torch.tensor([1 / kept if bit else 0.0 for bit in bits]))
    (mask,) = run(acl, "DropOutGenMaskV3", [numbers(4000), probability], [torch.empty(4000, dtype=torch.uint8)], seed=7, seed2=0)
    assert abs(mask.double().mean().item() - kept) < 0.05
    (got,) = run(acl, "DropOutDoMaskV3", [x, mask, probability], [torch.empty_like(x)])
    close(got, torch.tensor([1 / kept if bit else 0.0 for bit in mask.tolist()]))
