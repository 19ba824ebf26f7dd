"""gated_delta_rule.cpp and causal_convolution.cpp: token by token, and channel by channel, in float64."""

import pytest
import torch
import torch.nn.functional as F
import torch_npu

from cases import DEVICE, close, there

BF16 = torch.bfloat16
HALVES = (torch.float16, BF16)


def delta_rule(state, q, k, v, g, gk, beta, scale):
    """One token of one head: the state {features of v, features of k} and the result."""
    state = state * g.exp() @ torch.diag(gk.exp())
    state = state + beta * torch.outer(v - state @ k, k)
    return state, state @ q * scale


def tokens(count, heads=(2, 4), features=(8, 6)):
    q, k = (F.normalize(torch.randn(count, heads[0], features[0]), dim=-1).to(BF16) for _ in range(2))
    v, beta = torch.randn(count, heads[1], features[1]).to(BF16), torch.rand(count, heads[1]).to(BF16)
    return q, k, v, beta, -torch.rand(count, heads[1]), -torch.rand(count, heads[1], features[0])


def run(inputs, states, lengths, first_states, gated, scale=0.3):
    """The result, and the state after each token, of the sequences one after the other."""
    q, k, v, beta, g, gk = (x.double() for x in inputs)
    out, after, start = torch.zeros_like(v), [], 0
    for length, first in zip(lengths, first_states, strict=True):
        state = states[first].double().clone()
        for t in range(start, start + length):
            for head in range(v.shape[1]):
                shared, no = head // 2, torch.zeros(())
                state[head], out[t, head] = delta_rule(
                    state[head], q[t, shared], k[t, shared], v[t, head], g[t, head], gk[t, head] if gated else gk[t, head] * no,
                    beta[t, head], scale,
                )  # fmt: skip
            after.append(state.clone())
        start += length
    return out, after


@pytest.mark.parametrize("gated", [False, True])
def test_recurrent_gated_delta_rule(gated):
    """Sequences begin with the state of the last token that was accepted, and leave that of each token."""
    lengths, accepted = [2, 1, 3], [2, 1, 1]
    inputs, states, places = tokens(6), torch.randn(8, 4, 6, 8).to(BF16), torch.tensor([3, 7, 0, 5, 1, 2], dtype=torch.int32)
    expected, after = run(inputs, states, lengths, [7, 0, 5], gated)
    q, k, v, beta, g, gk = there(*inputs)
    state, counts, slots, taken = there(states, torch.tensor(lengths).int(), places, torch.tensor(accepted).int())
    got = torch_npu.npu_recurrent_gated_delta_rule(
        q, k, v, state, beta=beta, scale=0.3, actual_seq_lengths=counts, ssm_state_indices=slots, num_accepted_tokens=taken, g=g,
        gk=gk if gated else None,
    )  # fmt: skip
    close(got, expected)
    for place, want in zip(places.tolist(), after, strict=True):
        close(state[place], want)
    assert state.cpu()[[4, 6]].equal(states[[4, 6]])


def test_chunk_gated_delta_rule():
    lengths, inputs, states = [4, 3], tokens(7), torch.randn(2, 4, 6, 8).to(BF16)
    expected, after = run(inputs, states, lengths, [0, 1], False)
    q, k, v, beta, g, _ = there(*inputs)
    got, final = torch_npu.npu_chunk_gated_delta_rule(
        q, k, v, beta=beta, initial_state=states.to(DEVICE), actual_seq_lengths=torch.tensor(lengths, device=DEVICE).int(), scale=0.3, g=g
    )
    close(got, expected)
    close(final, torch.stack((after[3], after[6])))


@pytest.mark.parametrize("dtype", HALVES, ids=str)
@pytest.mark.parametrize("masked", [False, True])
def test_masked_causal_convolution(dtype, masked):
    """The result is that of a convolution with a group for each channel, and the gradients are autograd's."""
    x, weight, grad = (torch.randn(s).to(dtype) for s in ((6, 2, 5), (3, 5), (6, 2, 5)))
    mask = torch.rand(2, 6) > 0.3 if masked else None
    leaves = [t.double().requires_grad_() for t in (x, weight)]
    padded = F.pad(leaves[0].permute(1, 2, 0), (2, 0))
    expected = F.conv1d(padded, leaves[1].t().unsqueeze(1), groups=5).permute(2, 0, 1)
    expected = expected * mask.t().unsqueeze(2) if masked else expected
    close(torch_npu.npu_masked_causal_conv1d(*there(x, weight), mask=there(mask)[0]), expected.detach())
    got = torch_npu.npu_masked_causal_conv1d_backward(*there(grad, x, weight), mask=there(mask)[0])
    close(got, torch.autograd.grad(expected, leaves, grad.double()))


def cached(x, weight, states, lengths, **o):
    """What the page says, sequence by sequence; the states are changed."""
    starts, width, kept, out = [0, *torch.tensor(lengths).cumsum(0).tolist()], len(weight) - 1, states.shape[1], torch.zeros_like(x)
    for i, length in enumerate(lengths):
        own, row = x[starts[i] : starts[i + 1]], o["lines"][i]
        read, written = (row[o["initial"][i]], row[o["last"][i]]) if "last" in o else (row, row)
        if read == -1:
            continue
        offset = o["accepted"][i] - 1 if "accepted" in o else kept - width
        fresh = o.get("computed", [1] * len(lengths))[i] == 0
        offset = 0 if fresh else offset
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
