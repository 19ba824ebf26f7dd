"""Steps of training with the networks of examples/, for the tests of whole models."""

import contextlib
import copy
import functools
from collections.abc import Iterator

import torch_aclnn
import torch
from torch import Tensor, nn

from examples.models.recipes import RECIPES, Recipe

VARIANTS = ("torch", "convert", "patch")  # torch's own modules over torch_npu, and the two ways to our operators


def without_dropout(model: nn.Module) -> nn.Module:
    """Switch dropout off: npu draws other random numbers than the cpu."""
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.0
        elif isinstance(module, nn.MultiheadAttention):
            module.dropout = 0.0
    return model


def make_model(name: str) -> nn.Module:
    """Return the network without dropout, with the same parameters each time."""
    torch.manual_seed(0)
    return without_dropout(RECIPES[name].model())


@functools.cache
def _data(name: str) -> tuple[Tensor, Tensor]:
    return RECIPES[name].data()


def batch(name: str, count: int = 16) -> tuple[Tensor, Tensor]:
    """Return the first samples and their targets."""
    inputs, targets = _data(name)
    return inputs[:count], targets[:count]


def cast(tensor: Tensor, device: str, dtype: torch.dtype) -> Tensor:
    """Return the tensor on the device; only a floating one takes the dtype."""
    return tensor.to(device, dtype) if tensor.is_floating_point() else tensor.to(device)


@contextlib.contextmanager
def variant(kind: str, model: nn.Module) -> Iterator[nn.Module]:
    """Let the model use the operators that `kind` names until the end of the block."""
    with torch_aclnn.patch(batch_norm=True) if kind == "patch" else contextlib.nullcontext():
        yield torch_aclnn.convert(model, batch_norm=True) if kind == "convert" else model


def one_step(name: str, kind: str, device: str, dtype: torch.dtype = torch.float32) -> tuple[float, dict[str, Tensor]]:
    """Return the loss of the first batch and the gradient of each parameter, in float64 on the cpu."""
    model, (x, y) = make_model(name).to(dtype).to(device), batch(name)
    with variant(kind, model):
        loss = RECIPES[name].loss(model(cast(x, device, dtype)), cast(y, device, dtype))
        loss.backward()
    return loss.item(), {key: p.grad.cpu().double() for key, p in model.named_parameters()}


class Training:
    """A network on a device with its optimizer, schedule and data, which goes on step by step."""

    def __init__(self, name: str, device: str, model: nn.Module | None = None, dtype: torch.dtype = torch.float32) -> None:
        self.recipe: Recipe = RECIPES[name]
        self.device = device
        self.model = (make_model(name) if model is None else copy.deepcopy(model)).to(dtype).to(device)
        self.optimizer = self.recipe.optimizer(self.model.parameters())
        self.scheduler = self.recipe.scheduler(self.optimizer, 40)
        self.batches = [
            (cast(x, device, dtype), cast(y, device, dtype))
            for x, y in zip(*(t.split(self.recipe.batch_size) for t in _data(name)), strict=True)
        ]
        self.done = 0

    def run(self, steps: int) -> list[float]:
        """Train for further steps and return the loss of each."""
        losses = []
        for _ in range(steps):
            x, y = self.batches[self.done % len(self.batches)]
            self.optimizer.zero_grad()
            loss = self.recipe.loss(self.model(x), y)
            loss.backward()
            self.optimizer.step()
            self.scheduler.step()
            losses.append(loss.detach())
            self.done += 1
        return torch.stack(losses).tolist()

    def state(self) -> dict[str, object]:
        """Return what a checkpoint holds."""
        parts = {"model": self.model, "optimizer": self.optimizer, "scheduler": self.scheduler}
        return {"done": self.done, **{name: part.state_dict() for name, part in parts.items()}}

    def load(self, state: dict) -> None:
        """Go on from a checkpoint."""
        for name in ("model", "optimizer", "scheduler"):
            getattr(self, name).load_state_dict(state[name])
        self.done = state["done"]
