"""causal_convolution.cpp against definitions in float64."""

import pytest
import torch
import torch.nn.functional as F
import torch_npu
from checks import DEVICE, HALVES, close, on_npu, there


def cached(x, weight, states, lengths, **o):
    """What the page says, sequence by sequence; the states are changed."""
    starts, width, kept, out = [0, *torch.tensor(lengths).cumsum(0).tolist()], len(weight) - 1, states.shape[1], torch.zeros_like(x)
    for i, length in enumerate(lengths):
        own, row = x[starts[i] : starts[i + 1]], o["lines"][i]
        read, written = (row[o["initial"][i]], row[o["last"][i]]) if "last" in o else (row, row)
        if read == -1:
            continue
        fresh = "computed" in o and o["computed"][i] == 0
        offset = 0 if fresh else o["accepted"][i] - 1 if "accepted" in o else kept - width
        past = torch.zeros(width, x.shape[1]).double() if fresh else states[read, : offset + width].clone()
        whole = torch.cat((past, own))
        count = min(kept, len(whole))
        states[written, kept - count :] = whole[len(whole) - count :]
        padded = whole[offset:]
        if "last" in o:
            blocks, size = o["last"][i] - o["first"][i], o["block"]
            behind = (length - (size - o["computed"][i] % size)) % size
            last_end = length - behind - (size if behind == 0 else 0)
            for b in range(blocks):
                end = last_end - (blocks - b - 1) * size
                states[row[o["first"][i] + b], kept - width :] = padded[end : end + width]
        y = F.conv1d(padded.t().unsqueeze(0), weight.t().unsqueeze(1), groups=x.shape[1])[0].t()
        if o.get("resets"):
            y[: max(min(width - o["computed"][i], length), 0)] = 0
        out[starts[i] : starts[i + 1]] = y + own if o.get("adds") else y
    return out


BLOCKS = {"first": [0, 0, 0], "last": [1, 0, 1], "initial": [0, 0, 0]}
OPTIONS = [
    ("plain", {"lines": [2, 0, 3]}),
    ("speculative", {"lines": [2, 0, 3], "accepted": [1, 2, 3], "adds": 1}),
    ("fresh", {"lines": [2, -1, 3], "computed": [0, 4, 1], "resets": 1}),
    ("blocks", {"lines": [[0, 1, 2], [3, 4, 5], [6, 7, 8]], "computed": [0, 3, 2], "block": 4, **BLOCKS}),
]


@pytest.mark.parametrize("dtype", HALVES, ids=str)
@pytest.mark.parametrize("masked", [False, True])
def test_masked_causal_convolution(dtype, masked):
    x, weight, grad = (torch.randn(s).to(dtype) for s in ((6, 2, 5), (3, 5), (6, 2, 5)))
    mask = torch.rand(2, 6) > 0.3 if masked else None
    leaves = [t.double().requires_grad_() for t in (x, weight)]
    padded = F.pad(leaves[0].permute(1, 2, 0), (2, 0))
    expected = F.conv1d(padded, leaves[1].t().unsqueeze(1), groups=5).permute(2, 0, 1)
    expected = expected * mask.t().unsqueeze(2) if masked else expected
    close(torch_npu.npu_masked_causal_conv1d(*there(x, weight), mask=there(mask)[0]), expected.detach())
    got = on_npu(torch_npu.npu_masked_causal_conv1d_backward, grad, x, weight, mask=mask)
    close(got, torch.autograd.grad(expected, leaves, grad.double()))


@pytest.mark.parametrize(("name", "options"), OPTIONS, ids=[name for name, _ in OPTIONS])
@pytest.mark.parametrize("in_place", [False, True])
def test_cached_causal_convolution(name, options, in_place):
    lengths, x, weight, states = [5, 1, 4], torch.randn(10, 6).half(), torch.randn(3, 6).half(), torch.randn(9, 5, 6).half()
    expected_states = states.double()
    expected = cached(x.double(), weight.double(), expected_states, lengths, **options)

    on_device, cache, filters = there(x, states, weight)
    function = torch_npu.npu_fused_causal_conv1d_v2 if in_place else torch_npu.npu_fused_causal_conv1d
    names = {"lines": "cache_indices", "accepted": "num_accepted_tokens", "computed": "num_computed_tokens", "initial": "initial_state_idx"}
    names |= {name: f"block_idx_{name}_scheduled_token" for name in ("first", "last")}
    tensors = {names[key]: torch.tensor(values, dtype=torch.int32, device=DEVICE) for key, values in options.items() if key in names}
    got = function(
        on_device, filters, cache, query_start_loc=torch.tensor([0, 5, 6, 10], dtype=torch.int32, device=DEVICE), **tensors,
        block_size=options.get("block", 128), residual_connection=options.get("adds", 0),
        conv_mode="pangu" if "resets" in options else "default",
    )  # fmt: skip
    close(on_device if in_place else got, expected)
    close(cache, expected_states)


def test_a_batch_of_equal_lengths():
    x, weight, states = torch.randn(3, 2, 6).half(), torch.randn(3, 6).half(), torch.randn(3, 3, 6).half()
    expected_states = states.double()
    expected = cached(x.flatten(0, 1).double(), weight.double(), expected_states, [2] * 3, lines=[0, 1, 2])
    x, weight, states = there(x, weight, states)
    close(torch_npu.npu_fused_causal_conv1d(x, weight, states).flatten(0, 1), expected)
    close(states, expected_states)
