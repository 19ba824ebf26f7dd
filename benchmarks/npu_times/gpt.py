"""One stage of a GPT in the layout of Megatron, for dry runs: tensor, sequence, context and data parallelism, and a distributed optimizer.

It launches what MindSpeed-LLM's trainings of dense models do, without messages between stages; the options choose sizes and layout.
"""

import json
import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import torch
import torch_npu
from torch import Tensor, distributed, nn
from torch.nn import functional as F
from torch.optim import Optimizer
from torch.utils.checkpoint import checkpoint

from benchmarks.npu_times.parallel import FusedProduct, Gathered, LossOverWords, Scattered

HALF, NPU = torch.bfloat16, torch.device("npu")
_MASK = 2048


def weight(*shape: int) -> nn.Parameter:
    """Return a parameter on the device, whose values do not matter."""
    return nn.Parameter(torch.empty(*shape, dtype=HALF, device=NPU))


class Block(nn.Module):
    """Attention and a feed-forward network, with this rank's part of the heads and of the width."""

    def __init__(self, options: SimpleNamespace, tensor: Any) -> None:
        super().__init__()
        self.options, self.tensor = options, tensor
        hidden, parts = options.hidden, options.tensor_parallel
        self.heads, self.groups = options.heads // parts, max(options.groups // parts, 1)
        self.width = options.kv_channels or hidden // options.heads
        self.gated = options.activation in ("swiglu", "geglu")
        qkv, feed = (self.heads + 2 * self.groups) * self.width, options.feed_forward // parts
        self.norms = nn.ParameterList([weight(hidden), weight(hidden)])
        self.norm_biases = nn.ParameterList([weight(hidden), weight(hidden)] if options.layer_norm else [])
        self.qkv, self.out = weight(qkv, hidden), weight(hidden, self.heads * self.width)
        self.up, self.down = weight((1 + self.gated) * feed, hidden), weight(hidden, feed)
        self.qkv_bias = weight(qkv) if options.bias or options.qkv_bias else None
        self.up_bias = weight((1 + self.gated) * feed) if options.bias else None
        self.biases = nn.ParameterList([weight(hidden), weight(hidden)] if options.bias else [])

    def forward(self, x: Tensor, tables: SimpleNamespace) -> Tensor:
        """Return the output for this rank's part of the sequence."""
        x = x + self._end(self._attention(self._norm(x, 0), tables), 0)
        fed = self._activation(self._column(self._norm(x, 1), self.up, self.up_bias))
        return x + self._end(self._row(fed, self.down), 1)

    def _end(self, x: Tensor, which: int) -> Tensor:
        x = x + self.biases[which] if self.options.bias else x
        return self._norm(x, which) if self.options.post_norm else x

    def _norm(self, x: Tensor, which: int) -> Tensor:
        if self.options.layer_norm:
            return F.layer_norm(x, x.shape[-1:], self.norms[which], self.norm_biases[which])
        return torch_npu.npu_rms_norm(x, self.norms[which], 1e-6)[0]

    def _column(self, x: Tensor, matrix: Tensor, bias: Tensor | None = None) -> Tensor:
        if self.options.tensor_parallel == 1:
            return F.linear(x, matrix, bias)
        if not self.options.fused_communication:
            return F.linear(Gathered.apply(x, self.tensor), matrix, bias)
        product = FusedProduct.apply(x, matrix, self.tensor, True)
        return product if bias is None else product + bias

    def _row(self, x: Tensor, matrix: Tensor) -> Tensor:
        if self.options.tensor_parallel == 1:
            return F.linear(x, matrix)
        if not self.options.fused_communication:
            return Scattered.apply(F.linear(x, matrix), self.tensor)
        return FusedProduct.apply(x, matrix, self.tensor, False)

    def _activation(self, x: Tensor) -> Tensor:
        if self.options.activation == "swiglu" and self.options.fused_swiglu:
            return torch_npu.npu_swiglu(x, -1)
        if not self.gated:
            return F.gelu(x)
        first, second = x.chunk(2, -1)
        return (F.silu(first) if self.options.activation == "swiglu" else F.gelu(first, approximate="tanh")) * second

    def _rotated(self, x: Tensor, tables: SimpleNamespace) -> Tensor:
        if not self.options.rotary:
            return x
        if self.options.fused_rotary:
            return torch_npu.npu_rotary_mul(x, tables.cosine, tables.sine)
        first, second = x.chunk(2, -1)
        return x * torch.cos(tables.angles).to(HALF) + torch.cat((-second, first), -1) * torch.sin(tables.angles).to(HALF)

    def _attention(self, x: Tensor, tables: SimpleNamespace) -> Tensor:
        options = self.options
        mixed = self._column(x, self.qkv, self.qkv_bias)
        length, batch = mixed.shape[:2]
        parts = [self.heads // self.groups * self.width, self.width, self.width]
        query, key, value = mixed.view(length, batch, self.groups, -1).split(parts, -1)
        query, key = self._rotated(query.reshape(length, batch, self.heads, -1), tables), self._rotated(key, tables)
        if not options.fused_attention:
            return self._row(self._plain_attention(query, key, value, tables), self.out)
        query, key, value = (part.reshape(length, batch, -1) for part in (query, key, value))
        scale = self.width**-0.5
        masked = {"atten_mask": tables.mask, "sparse_mode": 2, "next_tockens": 0}
        out = torch_npu.npu_fusion_attention(query, key, value, self.heads, "SBH", scale=scale, **masked)[0]
        for _ in range(options.context_parallel - 1):
            half = key[: length // 2], value[: length // 2]
            out = out + torch_npu.npu_fusion_attention(query, *half, self.heads, "SBH", scale=scale)[0]
        return self._row(out, self.out)

    def _plain_attention(self, query: Tensor, key: Tensor, value: Tensor, tables: SimpleNamespace) -> Tensor:
        length, batch, heads, width = query.shape
        query, key, value = (part.reshape(length, batch * heads, width).transpose(0, 1) for part in (query, key, value))
        scores = torch.baddbmm(tables.slopes, query, key.transpose(1, 2), alpha=width**-0.5)
        weights = scores.float().masked_fill(tables.causal, -10000.0).softmax(-1).to(HALF)
        return torch.bmm(weights, value).transpose(0, 1).reshape(length, batch, -1)


class Stage(nn.Module):
    """The last stage of a pipeline, which has the head, and without a pipeline the embedding too."""

    def __init__(self, options: SimpleNamespace, tensor: Any) -> None:
        super().__init__()
        self.options, self.tensor = options, tensor
        self.blocks = nn.ModuleList(Block(options, tensor) for _ in range(options.layers))
        words = options.words // options.tensor_parallel
        self.embedding = weight(words, options.hidden) if options.stages == 1 else None
        self.head = weight(words, options.hidden)

    def forward(self, words: Tensor, tables: SimpleNamespace) -> Tensor:
        """Return the loss."""
        options = self.options
        if self.embedding is not None:
            x = F.embedding(words, self.embedding).transpose(0, 1).contiguous()
            if options.tensor_parallel > 1:
                x = Scattered.apply(x, self.tensor)
        else:
            length = words.shape[1] // options.tensor_parallel
            x = torch.empty(length, len(words), options.hidden, dtype=HALF, device=NPU, requires_grad=True)
        for number, block in enumerate(self.blocks):
            x = checkpoint(block, x, tables, use_reentrant=False) if number < options.recomputed else block(x, tables)
        first: Any = self.blocks[0]
        logits = first._column(first._norm(x, 0), self.head)
        logits = torch.tanh(logits / 30.0) * 30.0 if options.capped_logits else logits
        return LossOverWords.apply(logits, words.transpose(0, 1), self.tensor).mean()


class ShardedAdam(Optimizer):
    """Adam that sums the gradients of the microbatches in float32, and updates this rank's part of the weights."""

    def __init__(self, model: nn.Module, group: Any, sharded: bool) -> None:
        super().__init__(model.parameters(), {})
        self.weights = list(model.parameters())
        self.sums = [torch.zeros(one.shape, device=NPU) for one in self.weights]
        self.group, self.sharded = group, sharded
        ranks = distributed.get_world_size(group)
        count = sum(one.numel() for one in self.weights)
        self.part = -(-count // ranks) if sharded else count
        self.flat = torch.empty(self.part * ranks if sharded else count, device=NPU)
        self.halves = torch.empty_like(self.flat, dtype=HALF)
        self.master, self.first, self.second = (torch.empty(self.part, device=NPU) for _ in range(3))

    def add(self) -> None:
        """Add the gradients of a microbatch."""
        for one, total in zip(self.weights, self.sums, strict=True):
            if one.grad is not None:
                total.add_(one.grad)
                one.grad = None

    def step(self, closure: Callable[[], Any] | None = None) -> None:
        """Communicate, clip and update."""
        part = self.flat[: self.part]
        if self.sharded:
            distributed.reduce_scatter_tensor(part, self.flat, group=self.group)
        else:
            distributed.all_reduce(self.flat, group=self.group)
        norm = part.norm()
        distributed.all_reduce(norm)
        norm.item()
        part.mul_(0.9)
        state = self.master, self.first, self.second
        torch_npu.npu_apply_adam_w(1.0, 1.0, 1e-4, 0.01, 0.9, 0.95, 1e-8, part, None, False, False, out=state)
        self.halves[: self.part].copy_(self.master)
        if self.sharded:
            distributed.all_gather_into_tensor(self.halves, self.halves[: self.part], group=self.group)
        for total in self.sums:
            total.zero_()


def main(options: SimpleNamespace) -> None:
    """Train for two steps of as many microbatches as the options say."""
    distributed.init_process_group("hccl")
    parts, context = options.tensor_parallel, options.context_parallel
    tensor = distributed.new_group(list(range(parts)))
    data = distributed.new_group(list(range(0, distributed.get_world_size() // options.stages, parts)))
    model = Stage(options, tensor)
    optimizer = ShardedAdam(model, data, options.sharded_optimizer)
    length, width = options.length // context, options.kv_channels or options.hidden // options.heads
    cosine = torch.empty(length, 1, 1, width, dtype=HALF, device=NPU)
    tables = SimpleNamespace(cosine=cosine, sine=cosine.clone(), angles=cosine.float())
    tables.mask = torch.ones(_MASK, _MASK, dtype=torch.bool, device=NPU).triu(1)
    if not options.fused_attention:
        tables.slopes = torch.empty(options.batch * options.heads // parts, length, length, dtype=HALF, device=NPU)
        tables.causal = torch.ones(length, length, dtype=torch.bool, device=NPU)
    words = torch.zeros(options.batch, length, dtype=torch.int64, device=NPU)
    for _ in range(2):
        for _ in range(options.microbatches):
            model(words, tables).backward()
            optimizer.add()
        optimizer.step()


if __name__ == "__main__":
    main(SimpleNamespace(**json.loads(sys.argv[1])))
