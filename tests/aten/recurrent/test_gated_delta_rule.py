"""gated_delta_rule.cpp against definitions in float64."""

import pytest
import torch
import torch.nn.functional as F
import torch_npu
from checks import DEVICE, close, on_npu, there

BF16 = torch.bfloat16


def tokens(count, heads=(2, 4), features=(8, 6)):
    q, k = (F.normalize(torch.randn(count, heads[0], features[0]), dim=-1).to(BF16) for _ in range(2))
    v, beta = torch.randn(count, heads[1], features[1]).to(BF16), torch.rand(count, heads[1]).to(BF16)
    return q, k, v, beta, -torch.rand(count, heads[1]), -torch.rand(count, heads[1], features[0])


def run(inputs, states, lengths, first_states, gated, scale=0.3):
    """The result, and the state {heads, features of v, features of k} after each token, of the sequences one after the other."""
    q, k, v, beta, g, gk = (x.double() for x in inputs)
    q, k = (x.repeat_interleave(2, 1).unsqueeze(-1) for x in (q, k))
    out, after, start = [], [], 0
    for length, first in zip(lengths, first_states, strict=True):
        state = states[first].double()
        for t in range(start, start + length):
            state = state * (g[t].unsqueeze(-1) + gk[t] * gated).exp().unsqueeze(1)
            state = state + beta[t].view(-1, 1, 1) * (v[t].unsqueeze(-1) - state @ k[t]) @ k[t].mT
            out.append((state @ q[t]).squeeze(-1) * scale)
            after.append(state)
        start += length
    return torch.stack(out), after


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
    got, final = on_npu(
        torch_npu.npu_chunk_gated_delta_rule, q, k, v, beta=beta, initial_state=states,
        actual_seq_lengths=torch.tensor(lengths, device=DEVICE).int(), scale=0.3, g=g,
    )  # fmt: skip
    close(got, expected)
    close(final, torch.stack((after[3], after[6])))
