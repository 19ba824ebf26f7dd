"""rotary_cache.cpp against definitions in float64."""

import pytest
import torch
import torch_npu
from checks import DEVICE, FLOATS, drawn
from definitions import turned

from direct import call


def embedded(x, positions, table, sections, half, in_turns):
    """Each section has a position, which its features take."""
    angles = table.double()[positions]
    if positions.dim() == 2:
        section = [i % 3 if i < 3 * sections[1] else 0 for i in range(table.size(1) // 2)]
        section = section if in_turns else [s for s, n in enumerate(sections) for _ in range(n)]
        angles = torch.stack([angles[s, :, [i, i + len(section)]] for i, s in enumerate(section)], -1)
        angles = torch.cat([angles[:, 0], angles[:, 1]], -1)
    cos, sin = ((torch.cat((one, one), -1) if half else one.repeat_interleave(2, -1)) for one in angles.unsqueeze(1).chunk(2, -1))
    heads, size = x.double().unflatten(-1, (-1, 8)), table.size(1)
    rotated = turned(heads[..., :size], cos, sin, "half" if half else "interleave")
    return torch.cat([rotated, heads[..., size:]], -1).flatten(1).to(x.dtype)


SECTIONS = [(None, False), ((1, 1, 1), False), ((1, 1, 1), True), ((2, 0, 1), False), ((1, 0, 1, 1), False)]


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("half", [True, False], ids=["half", "interleave"])
@pytest.mark.parametrize(("sections", "in_turns"), SECTIONS)
def test_rotary_embedding_from_a_table(sections, in_turns, half, dtype):
    query, key, cache = (one.to(dtype) for one in (drawn(5, 24), drawn(5, 8), drawn(9, 6)))
    positions = torch.tensor([[3, 0, 8, 4, 1], [0, 2, 8, 5, 5], [7, 7, 0, 1, 2], [1, 2, 3, 4, 5]])
    positions = positions[: len(sections)] if sections else positions[0]
    there = [one.to(DEVICE) for one in (positions, query, key, cache)]
    expected = [embedded(x, positions, cache, sections, half, in_turns) for x in (query, key)]
    modes = {"rotary_mode": "half" if half else "interleave", "cache_mode": "interleave" if in_turns else "default"}
    found = torch_npu.npu_mrope(*there, 8, mrope_section=list(sections or (0, 0, 0)), **modes)
    torch.testing.assert_close([one.cpu() for one in found], expected)
    if not in_turns:
        outs = [torch.empty_like(one) for one in there[1:3]]
        call("aclnnRopeWithSinCosCache", *there, list(sections or (0, 0, 0)), 8, half, *outs)
        torch.testing.assert_close([one.cpu() for one in outs], expected)
