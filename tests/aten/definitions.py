"""What functions are in float64, for tests of several sources."""

import torch
import torch.nn.functional as F


def gelu(x):
    """Return its approximation with tanh."""
    return F.gelu(x, approximate="tanh")


def swiglu(x, left=True):
    first, second = x.double().chunk(2, -1)
    return F.silu(first) * second if left else first * F.silu(second)


def rms_norm(x, gamma, beta=0.0, epsilon=1e-6):
    return x / (x.square().mean(-1, True) + epsilon).sqrt() * gamma.double() + beta


def turned(x, cos, sin, mode="half"):
    """Pairs of features, of both halves or of neighbours, as places of the plane that are turned."""
    first, second = x.chunk(2, -1)
    pairs = torch.cat((-second, first), -1) if mode == "half" else torch.stack((-x[..., 1::2], x[..., ::2]), -1).flatten(-2)
    return x * cos + pairs * sin


def taken_apart(x):
    """The features at even places, and behind them those at odd ones."""
    return torch.cat((x[..., ::2], x[..., 1::2]), -1)


def by_rows(exact, largest=127):
    """The numbers of each row divided so that the largest is that of the integers, and the divisors."""
    scale = exact.abs().amax(-1) / largest
    return exact / scale.unsqueeze(-1), scale


def halves(*shape):
    return torch.randn(shape).half()


def attention(q, k, v, scale, masked=None, shift=None, sink=None):
    """Attend with {heads, positions, features}, where heads of the query may share one of the keys.

    A sink takes part in the softmax, and has no value. Behind the result are the logarithms of the sums of exponentials, and the scores,
    with the sinks' behind those of the keys.
    """
    q, k, v = q.double(), *(t.double().repeat_interleave(q.shape[-3] // t.shape[-3], -3) for t in (k, v))
    scores = q @ k.mT * scale
    scores = scores if shift is None else scores + shift.double()
    scores = scores if masked is None else scores.masked_fill(masked, -torch.inf)
    whole = scores if sink is None else torch.cat((scores, sink.double().view(-1, 1, 1).expand(*scores.shape[:-1], 1)), -1)
    lse = whole.logsumexp(-1, True)
    return (scores - lse).exp() @ v, lse, whole


def attention_of_rows(q, k, v, allowed, scale, sink=None):
    """The same of {positions, heads, features}; behind the result are the weights of the softmax, and the scores."""
    out, lse, whole = attention(*(t.transpose(0, 1) for t in (q, k, v)), scale, ~allowed, sink=sink)
    return out.transpose(0, 1), (whole - lse).exp(), whole


def exponentials(scores):
    """The largest score of each row, and the sum of the exponentials of what the others are below it."""
    largest = scores.amax(-1)
    return largest, (scores - largest.unsqueeze(-1)).exp().sum(-1)


def choices(tokens, k, experts):
    """Return experts for each token, which are not the same."""
    return torch.stack([torch.randperm(experts)[:k] for _ in range(tokens)])


def rows_by_expert(experts):
    """Return the numbers i * k + j of the copies of tokens, in the order of their experts."""
    flat = experts.flatten().tolist()
    return sorted(range(len(flat)), key=lambda copy: (flat[copy], copy))
