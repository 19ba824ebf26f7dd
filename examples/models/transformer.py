"""A Transformer encoder that reads an image as a sequence of grey values."""

import torch
from torch import Tensor, nn


class Transformer(nn.Module):
    """Classify sequences (N, length) of tokens into ten classes."""

    def __init__(self, tokens: int = 17, length: int = 16, width: int = 32, heads: int = 4, layers: int = 2, dropout: float = 0.1) -> None:
        super().__init__()
        self.token, self.position = nn.Embedding(tokens, width), nn.Embedding(length, width)
        layer = nn.TransformerEncoderLayer(width, heads, 4 * width, dropout, activation="gelu", batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, layers, norm=nn.LayerNorm(width), enable_nested_tensor=False)
        self.head = nn.Linear(width, 10)

    def forward(self, x: Tensor) -> Tensor:
        """Return the logits (N, 10)."""
        x = self.token(x) + self.position(torch.arange(x.shape[1], device=x.device))
        return self.head(self.encoder(x).mean(dim=1))
