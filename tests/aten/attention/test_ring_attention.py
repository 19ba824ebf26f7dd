"""ring_attention.cpp against definitions in float64."""

import pytest
import torch
from checks import DEVICE
from definitions import exponentials

from direct import call


@pytest.mark.parametrize("layout", ["SBH", "TND"])
@pytest.mark.parametrize("version", ["", "V2"])
def test_attention_of_keys_in_two_parts(version, layout):
    """The results of both parts become that of all keys."""
    generator = torch.Generator().manual_seed(7)
    scores, values = (torch.randn(2, 3, n, m, dtype=torch.float64, generator=generator) for n, m in ((4, 10), (10, 8)))

    def part(keys):
        of_part = scores[..., keys]
        return of_part.softmax(-1) @ values[..., keys, :], *(statistic.unsqueeze(-1) for statistic in exponentials(of_part))

    def laid_out(attention, *statistics):
        # From {batches, heads, positions, features} to {positions, batches, heads * features} or {batches * positions, heads, features}.
        wide = [s.expand(-1, -1, -1, 8) for s in statistics]
        if layout == "SBH":
            shaped = [attention.permute(2, 0, 1, 3).flatten(2), *wide]
        else:
            shaped = [t.transpose(1, 2).flatten(0, 1) for t in (attention, *wide)]
        return [t.float().contiguous().to(DEVICE) for t in shaped]

    expected = laid_out(*part(slice(None)))
    got = [torch.empty_like(t) for t in expected]
    ends = torch.tensor([4, 8], device=DEVICE) if layout == "TND" else None
    layouts = [layout.encode(), *([b""] if version else [])]
    call(f"aclnnRingAttentionUpdate{version}", *laid_out(*part(slice(4))), *laid_out(*part(slice(4, 10))), ends, *layouts, *got)
    torch.testing.assert_close(got, expected, rtol=1e-5, atol=1e-6)
