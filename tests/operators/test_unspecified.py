"""TORCH_ACLNN_HOST_MODE=unspecified: what no document promises is of no use, and the extension does not need it."""

from pathlib import Path

from support.subprocesses import host_mode, output_of

MODE = host_mode("unspecified")

START = """
import torch_aclnn, torch
x = torch.linspace(-2, 3, 360).view(4, 3, 5, 6)

def result_and_gradient(function, device, dtype):
    leaf = x.to(device, dtype).requires_grad_()
    result = function(leaf)
    grad_output = torch.linspace(-1, 2, result.numel()).sin().view_as(result).bfloat16().to(device, dtype)
    return result, *torch.autograd.grad(result, leaf, grad_output)
"""


def test_only_torch_npus_own_backward_reads_what_its_batch_norm_saved():
    code = """
saved = torch.native_batch_norm(x.npu(), None, None, None, None, True, 0.1, 1e-5)[1:]
variance, mean = torch.var_mean(x, (0, 2, 3), correction=0)
for statistic in (mean, variance, (variance + 1e-5).rsqrt()):
    assert not any(torch.isclose(have.cpu(), statistic).any() for have in saved), saved
batch_norm = lambda functional: lambda x: functional.batch_norm(x, None, None, training=True)
expected = result_and_gradient(batch_norm(torch.nn.functional), "cpu", torch.float64)
for functional in (torch.nn.functional, torch_aclnn.functional):
    for have, want in zip(result_and_gradient(batch_norm(functional), "npu", torch.float32), expected):
        torch.testing.assert_close(have.cpu(), want.float(), rtol=1e-5, atol=1e-5)
print("done")
"""
    assert output_of(START + code, **MODE) == "done"


def test_paddings_take_bfloat16_though_no_document_of_the_gradients_lists_it():
    code = """
for function in (torch_aclnn.functional.replication_pad2d, torch_aclnn.functional.reflection_pad2d):
    _, expected = result_and_gradient(lambda x: function(x, (2, 1, 0, 3)), "cpu", torch.float64)
    _, gradient = result_and_gradient(lambda x: function(x, (2, 1, 0, 3)), "npu", torch.bfloat16)
    assert torch.equal(gradient.cpu(), expected.bfloat16()), function
    operator = getattr(torch.ops.torch_aclnn, function.__name__ + "_backward")
    gaps = torch.empty(3, 4, 6, 8, dtype=torch.bfloat16, device="npu")[..., ::2, :5]
    operator.out(x.npu().bfloat16(), (4, 3, 3, 5), (1, 0, 2, 0), out=gaps.transpose(0, 1))
    torch.testing.assert_close(gaps.transpose(0, 1), operator(x.npu().bfloat16(), (4, 3, 3, 5), (1, 0, 2, 0)), rtol=0, atol=0)
print("done")
"""
    assert output_of(START + code, **MODE) == "done"


def test_reserved_results_of_attention_are_nan():
    code = f"""
import sys; sys.path += [{str(Path(__file__).parents[1])!r}, {str(Path(__file__).parents[1] / "aten")!r}]
from direct import call
q = torch.rand(1, 2, 3, 4, device="npu")
maximum, total, reserved = (torch.zeros(1, 2, 3, 8, device="npu") for _ in range(3))
call("aclnnFlashAttentionScore", q, q, q, *[None] * 5, 1.0, 1.0, 65536, 65536, 2, b"BNSD", 0, 0, maximum, total, reserved, q.clone())
print(reserved.isnan().all().item(), maximum.isfinite().all().item())
"""
    assert output_of(START + code, **MODE) == "True True"
