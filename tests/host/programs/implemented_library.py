"""Calls of two libraries that TORCH_ACLNN_HOST_LIBRARIES names."""

import torch
import torch_npu  # noqa: F401

from direct import call, failure, refusal

x, out = torch.tensor([1.0, 2.0], device="npu"), torch.zeros(2, device="npu")
for name, factor in (("aclnnTwice", 2), ("aclnnThrice", 3), ("aclnnNegate", -1)):
    call(name, x, 0.5, out)
    assert out.tolist() == [factor + 0.5, 2 * factor + 0.5]
code, message = failure("aclnnThrice", x.view(2, 1), 0.0, out)
assert code == 507015 and "aclnnThrice: self: expected FLOAT of one dimension" in message
code, message = refusal("aclnnTwice", x.half(), 0.0, out)
assert code == 161002 and "self: expected a data type of FLOAT on" in message
print("passed")
