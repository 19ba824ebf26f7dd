"""PyTorch's entries of each family's operators, and the samples of them that cannot pass: `entries(operator)` and `EXCLUSIONS`."""

from types import ModuleType

from opinfo.families import adaptive, batch_norm, padding, pooling, unpooling

FAMILIES: dict[str, ModuleType] = {
    "average_pooling": pooling,
    "adaptive_average_pooling": adaptive,
    "padding": padding,
    "max_unpooling": unpooling,
    "batch_norm": batch_norm,
}
