"""Functions of torch_npu on Python functions in the place of the engine's entry points."""

import torch_aclnn
import torch
from torch.nn import functional


@torch_aclnn.host.implement(
    "aclnnGeluMul", "Tensor input, str approximate, Tensor(a!) out", dtypes=[torch.float32, torch.float16], replace=True
)
def gelu_mul(input, approximate, out):
    left, right = input.chunk(2, dim=-1)
    out.copy_(functional.gelu(left, approximate=approximate) * right)


@torch_aclnn.host.implement(
    "aclnnMoeReRouting",
    "(Tensor tokens, Tensor counts, Tensor? scales, int kind, int index_kind, "
    "Tensor(a!) out, Tensor(b!) out_scales, Tensor(c!) index, Tensor(d!) sums) -> ()",
    replace=True,
)
def re_routing(tokens, counts, scales, kind, index_kind, out, out_scales, index, sums):
    starts = torch.cat([counts.new_zeros(1), counts.flatten().cumsum(0)])[:-1].view_as(counts)
    order = [
        starts[rank, expert] + i for expert in range(counts.size(1)) for rank in range(counts.size(0)) for i in range(counts[rank, expert])
    ]
    index.copy_(torch.tensor(order))
    out.copy_(tokens[index.long()])
    if scales is not None:
        out_scales.copy_(scales[index.long()])
    sums.copy_(counts.sum(0))


import torch_npu  # noqa: E402

torch.manual_seed(0)

# A mode of the calling thread is not the function's.
for dtype in (torch.float32, torch.float16):
    x = torch.randn(3, 8).to(dtype)
    expected = functional.gelu(x[:, :4]) * x[:, 4:]
    with torch.device("npu"):
        for _ in range(3):  # from the second on of cached executors
            y = torch_npu.npu_gelu_mul(x.npu())
    torch.testing.assert_close(y.cpu(), expected)

tokens, counts, scales = torch.arange(12.0).view(6, 2), torch.tensor([[1, 2], [2, 1]], dtype=torch.int32), torch.arange(6.0)
for given in (scales, None):
    out, out_scales, index, sums = torch_npu.npu_moe_re_routing(
        tokens.half().npu(), counts.npu(), per_token_scales=None if given is None else given.npu()
    )
    order = torch.tensor([0, 3, 4, 1, 2, 5])
    assert torch.equal(index.cpu().long(), order) and torch.equal(out.cpu(), tokens[order].half())
    assert torch.equal(sums.cpu(), torch.tensor([3, 3], dtype=torch.int32))
    assert given is None or torch.equal(out_scales.cpu(), scales[order])

calls = torch_aclnn.host.calls()
assert (calls["aclnnGeluMul"], calls["aclnnMoeReRouting"]) == (6, 2), calls
print("passed")
