"""block_sparse_attention.cpp against definitions in float64."""

import pytest
import torch
import torch_npu
from checks import close, on_npu, there
from definitions import attention_of_rows as attention
from definitions import halves
from sequences import gathered, parts


@pytest.mark.parametrize("layout", ["TND", "BNSD"])
def test_attention_between_blocks(layout):
    rows, columns, shape = [3, 5], [7, 4], [2, 3]
    shapes = ((rows, (4, 8)), (columns, (2, 8)), (columns, (2, 8)), (rows, (4, 8)))
    q, k, v, grad = ([halves(n, *s) for n in c] for c, s in shapes)
    mask = torch.rand(2, 4, 3, 3) > 0.4
    mask[..., 0] = True

    own = "TND" if layout == "TND" else "BSND"

    def exchanged(tensor):
        return tensor if layout == "TND" else tensor.transpose(1, 2)

    options = {"num_key_value_heads": 2, "q_input_layout": layout, "kv_input_layout": layout, "scale_value": 0.3}
    lengths = {"actual_seq_lengths": rows, "actual_seq_lengths_kv": columns}
    on_device = there(*(exchanged(gathered(t, own)) for t in (q, k, v)))
    out, lse = on_npu(
        torch_npu.npu_block_sparse_attention, *on_device, mask.to(torch.int8), shape, **options, **lengths, softmax_lse_flag=1
    )
    gradients = on_npu(
        torch_npu.npu_block_sparse_attention_backward, exchanged(gathered(grad, own)).contiguous(), *on_device, out, lse,
        mask.to(torch.int8), block_shape=shape, **options, **lengths,
    )  # fmt: skip
    for i, (m, n) in enumerate(zip(rows, columns, strict=True)):
        allowed = mask[i].repeat_interleave(2, 1)[:, :m].repeat_interleave(3, 2)[:, :, :n]
        leaves = [t[i].double().requires_grad_() for t in (q, k, v)]
        result, _, scores = attention(*leaves, allowed, 0.3)
        close(parts(exchanged(out), rows, own)[i], result)
        close(parts(exchanged(lse), rows, own)[i][..., 0].t(), scores.logsumexp(2))
        wanted = torch.autograd.grad(result, leaves, grad[i].double())
        close((parts(exchanged(t), c, own)[i] for t, c in zip(gradients, (rows, columns, columns), strict=True)), wanted)
