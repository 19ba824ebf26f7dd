"""decoding.cpp against definitions in float64."""

import pytest
import torch
import torch_npu
from checks import DEVICE, HALVES, on_npu


def test_next_step_of_generation():
    """Requests behind those that were asked for are padding, as in vLLM."""
    tokens, positions, slots = (torch.full((4,), 9, device=DEVICE) for _ in range(3))
    lengths = torch.tensor([3, 4, 7, 5], device=DEVICE)
    blocks = torch.tensor([[10, 11], [20, 21], [30, 31], [40, 41]], device=DEVICE)
    sampled = torch.tensor([[51], [52], [53]], device=DEVICE)
    torch_npu.npu_advance_step_flashattn(tokens, sampled, positions, lengths, slots, blocks, 4, 3, 4)
    assert tokens.tolist() == [51, 52, 53, 0] and positions.tolist() == [3, 4, 7, 0] and lengths.tolist() == [4, 5, 8, 5]
    assert slots.tolist() == [10 * 4 + 3, 21 * 4, 31 * 4 + 3, -1]


def test_next_step_of_speculation():
    """A request continues after its last accepted token, with the next speculated tokens."""
    tokens, lengths, slots = (torch.zeros(4, dtype=torch.int64, device=DEVICE) for _ in range(3))
    positions = torch.tensor([2, 3, 5, 6], device=DEVICE)
    sampled, next_ones = torch.tensor([[51, -1], [61, 62]], device=DEVICE), torch.tensor([[7], [8]], device=DEVICE)
    blocks = torch.tensor([[10, 11, 12], [20, 21, 22]], device=DEVICE)
    accepted = torch.tensor([0, 1], device=DEVICE)
    torch_npu.npu_advance_step_flashattn(
        tokens, sampled, positions, lengths, slots, blocks, 2, 2, 4, spec_token=next_ones, accepted_num=accepted
    )
    assert tokens.tolist() == [51, 7, 62, 8] and positions.tolist() == [3, 4, 7, 8] and lengths.tolist() == [4, 5, 8, 9]
    assert slots.tolist() == [43, 44, 21 * 4 + 3, 22 * 4]


@pytest.mark.parametrize("dtype", [*HALVES, torch.int8], ids=str)
@pytest.mark.parametrize("axis", [-2, -1])
def test_updates_of_a_list(axis, dtype):
    caches = [torch.arange(24).reshape(2, 4, 3).to(dtype) + i for i in range(3)]
    updates = -torch.ones((3, 2, 2, 3) if axis == -2 else (3, 2, 4, 1), dtype=dtype)
    places, mask = torch.tensor([1, 0, 2], dtype=torch.int32), torch.tensor([1, 0, 1], dtype=torch.uint8)
    found = on_npu(torch_npu.npu_scatter_list, caches, places, updates, mask, "update", axis)
    for cache, place, chosen in zip(caches, places.tolist(), mask.tolist(), strict=True):
        if chosen:
            cache.narrow(axis, place, updates.size(axis)).fill_(-1)
    assert all(torch.equal(one.cpu(), cache) for one, cache in zip(found, caches, strict=True))
