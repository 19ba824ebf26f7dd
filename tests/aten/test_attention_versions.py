"""attention.cpp: versions of fused attention with sinks and features of rope, against the same in float64."""

from pathlib import Path

import pytest
import torch
import torch_npu

from cases import DEVICE
from direct import call
from support.subprocesses import output_of

ENDS = {"actual_seq_qlen": [2, 5], "actual_seq_kvlen": [3, 7]}


def reference(q, k, v, sink, scale=0.5):
    """Attention of {batch, heads, positions, features}; a sink takes part in the softmax, and has no value."""
    scores = scale * q @ k.repeat_interleave(q.shape[1] // k.shape[1], 1).mT
    if sink is not None:
        scores = torch.cat((scores, sink.view(-1, 1, 1).expand(*scores.shape[:3], 1)), 3)
    return scores.softmax(3)[..., : k.shape[2]] @ v.repeat_interleave(q.shape[1] // v.shape[1], 1)


def check(function, layout, rope, sink):
    """The result and all gradients of one call; of packed sequences each attends to itself."""
    torch.manual_seed(0)
    packed = layout == "TND"
    shapes = [(5, 4, 8), (7, 2, 8), (7, 2, 6)] if packed else [(2, 4, 5, 8), (2, 2, 7, 8), (2, 2, 7, 6)]
    shapes += [(*s[:-1], 4) for s in shapes[:2]] * rope + [(4,)] * sink
    here = [torch.randn(s).double().requires_grad_() for s in shapes]
    leaves = [x.detach().float().to(DEVICE).requires_grad_() for x in here]

    def arguments(inputs):
        """The query and the key, their features of rope, and the sink."""
        q, k, v, *rest = inputs
        ropes = dict(zip(("query_rope", "key_rope"), rest, strict=False)) if rope else {}
        return (q, k, v), ropes | ({"sink": rest[-1]} if sink else {})

    tensors, options = arguments(leaves)
    got = function(*tensors, 4, layout, scale=0.5, **options, **(ENDS if packed else {}))[0]
    (q, k, v), options = arguments(here)
    if rope:
        q, k = torch.cat((q, options["query_rope"]), -1), torch.cat((k, options["key_rope"]), -1)
    of_head = options.get("sink")
    pieces = zip(q.split((2, 3)), k.split((3, 4)), v.split((3, 4)), strict=True) if packed else []
    parts = [reference(*(t.transpose(0, 1).unsqueeze(0) for t in piece), of_head)[0].transpose(0, 1) for piece in pieces]
    expected = torch.cat(parts) if packed else reference(q, k, v, of_head)
    torch.testing.assert_close(got.detach().cpu().double(), expected.detach(), rtol=1e-5, atol=1e-5)
    cotangent = torch.randn(expected.shape).double()
    gradients = torch.autograd.grad(got, leaves, cotangent.float().to(DEVICE))
    for have, want in zip(gradients, torch.autograd.grad(expected, here, cotangent), strict=True):
        torch.testing.assert_close(have.cpu().double(), want, rtol=1e-4, atol=1e-5)


def versions():
    return {"first": torch_npu.npu_fusion_attention, "second": torch_npu.npu_fusion_attention_v2}


@pytest.mark.parametrize(
    ("version", "layout", "rope", "sink"),
    [("first", "BNSD", 0, 1), ("first", "TND", 0, 1), ("second", "BNSD", 0, 1), ("second", "TND", 1, 0), ("second", "TND", 1, 1)],
)
def test_sinks_and_ropes(version, layout, rope, sink):
    check(versions()[version], layout, rope, sink)


ON_950 = """
import sys
sys.path[:0] = {folders!r}
from test_attention_versions import check, check_dropout, versions
for version in "first", "second":
    for layout in "BNSD", "TND":
        for rope in (0, 1) if version == "second" else (0,):
            check(versions()[version], layout, rope, int(version == "second"))
check_dropout()
"""


def check_dropout():
    """The product draws what it keeps from the seed; the backward drops the same."""
    q, k, v = (x.expand(50, 1, 6, 6).contiguous() for x in (torch.randn(6, 6), torch.randn(6, 6), torch.eye(6)))
    leaf = v.to(DEVICE).requires_grad_()
    got = torch_npu.npu_fusion_attention(q.to(DEVICE), k.to(DEVICE), leaf, 1, "BNSD", keep_prob=0.6)[0]
    assert abs(float((got.detach().cpu() == 0).double().mean()) - 0.4) < 0.05
    got.sum().backward()
    torch.testing.assert_close(leaf.grad.cpu()[..., 0], got.detach().cpu().sum(2), rtol=1e-5, atol=1e-5)


def test_the_version_of_950():
    output_of(ON_950.format(folders=[str(folder) for folder in Path(__file__).parents[:2]]), TORCH_ACLNN_HOST_SOC="Ascend950PR_9599")


@pytest.mark.parametrize("name", ["aclnnIncreFlashAttention", "aclnnIncreFlashAttentionV2", "aclnnIncreFlashAttentionV3"])
def test_older_increments(name):
    q, k, v = (torch.randn(1, 2, n, 8).half() for n in (1, 7, 7))
    there, out = [x.to(DEVICE) for x in (q, k, v)], torch.empty(1, 2, 1, 8, dtype=torch.half, device=DEVICE)
    quant = [None] * {"": 0, "2": 5, "3": 8}[name.removeprefix("aclnnIncreFlashAttention").removeprefix("V")]
    paging = [0, 0] if name.endswith("3") else []
    call(name, there[0], (there[1],), (there[2],), None, None, [6], *quant, 2, 0.5, b"BNSD", 2, *paging, out)
    expected = reference(*(x.double() for x in (q, k[:, :, :6], v[:, :, :6])), None)
    torch.testing.assert_close(out.cpu().double(), expected, rtol=2e-3, atol=2e-3)


def test_the_second_prompt():
    q, k, v = (torch.randn(1, 2, 5, 8).half() for _ in range(3))
    there, out = [x.to(DEVICE) for x in (q, k, v)], torch.empty(1, 2, 5, 8, dtype=torch.half, device=DEVICE)
    far = 2**31 - 1
    call("aclnnPromptFlashAttentionV2", *there, *[None] * 9, 2, 0.5, far, far, b"BNSD", 2, 0, out)
    torch.testing.assert_close(out.cpu().double(), reference(*(x.double() for x in (q, k, v)), None), rtol=2e-3, atol=2e-3)
