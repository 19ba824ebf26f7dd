"""Train a language model of the size that the arguments ask for, on random text; for `torch-aclnn dryrun`, which tells whether it fits.

torch-aclnn dryrun examples/dryrun.py --batch 4
torch-aclnn dryrun examples/dryrun.py --batch 4 --checkpoint
python examples/dryrun.py --layers 2 --width 64 --length 32   # a small one can be trained, too
"""

import argparse

import torch_aclnn  # noqa: F401  before torch, for environments in which the import hook is switched off
import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

WORDS = 32000


class Block(nn.Module):
    """Attention and a feed-forward network, each with a norm before it."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm, self.feed_norm = nn.LayerNorm(width), nn.LayerNorm(width)
        self.query_key_value, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.feed_forward = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x: Tensor) -> Tensor:
        """Return the block's output for a batch of sequences."""
        batch, length, width = x.shape
        parts = self.query_key_value(self.norm(x)).view(batch, length, 3, self.heads, width // self.heads)
        query, key, value = parts.permute(2, 0, 3, 1, 4)
        attended = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        x = x + self.out(attended.transpose(1, 2).reshape(batch, length, width))
        return x + self.feed_forward(self.feed_norm(x))


class LanguageModel(nn.Module):
    """A decoder without position embeddings, which change its size little."""

    def __init__(self, layers: int, width: int, heads: int, checkpoints: bool) -> None:
        super().__init__()
        self.checkpoints = checkpoints
        self.embedding = nn.Embedding(WORDS, width)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, WORDS, bias=False)

    def forward(self, words: Tensor) -> Tensor:
        """Return the logits of the next words."""
        x = self.embedding(words)
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=False) if self.checkpoints else block(x)
        return self.head(self.norm(x))


def main() -> None:
    """Train for some steps, and save the model."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name, value in (("layers", 24), ("width", 2048), ("heads", 16), ("batch", 4), ("length", 2048), ("steps", 3)):
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--checkpoint", action="store_true", help="compute the blocks again in the backward")
    arguments = parser.parse_args()
    with torch.device("npu"):
        model = LanguageModel(arguments.layers, arguments.width, arguments.heads, arguments.checkpoint)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    for step in range(arguments.steps):
        words = torch.randint(WORDS, (arguments.batch, arguments.length + 1)).npu()
        with torch.autocast("npu", dtype=torch.bfloat16):
            logits = model(words[:, :-1])
        loss = F.cross_entropy(logits.float().flatten(0, 1), words[:, 1:].flatten())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        print(f"step {step}: loss {loss.item():.3f}")
    torch.save(model.state_dict(), "language_model.pt")


if __name__ == "__main__":
    main()
