"""How each network is trained."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from torch import Tensor, nn, optim

from . import data
from .inception import Inception
from .lenet import LeNet
from .resnet import ResNet
from .segnet import SegNet3d
from .training import Scheduler
from .transformer import Transformer
from .unet import UNet


@dataclass(frozen=True)
class Recipe:
    """A network with what trains it; each field but batch_size is a function, so that every training starts afresh."""

    model: Callable[[], nn.Module]
    data: Callable[[], tuple[Tensor, Tensor]]
    loss: Callable[[Tensor, Tensor], Tensor]
    optimizer: Callable[[Iterable[Tensor]], optim.Optimizer]
    scheduler: Callable[[optim.Optimizer, int], Scheduler]
    batch_size: int


def _sgd(lr: float) -> Callable[[Iterable[Tensor]], optim.Optimizer]:
    return lambda parameters: optim.SGD(parameters, lr=lr, momentum=0.9)


def _adamw(lr: float) -> Callable[[Iterable[Tensor]], optim.Optimizer]:
    return lambda parameters: optim.AdamW(parameters, lr=lr, weight_decay=0.01)


def _constant(optimizer: optim.Optimizer, steps: int) -> Scheduler:
    return optim.lr_scheduler.ConstantLR(optimizer, factor=1.0)


def _cosine(optimizer: optim.Optimizer, steps: int) -> Scheduler:
    return optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=steps)


def _one_cycle(optimizer: optim.Optimizer, steps: int) -> Scheduler:
    return optim.lr_scheduler.OneCycleLR(optimizer, max_lr=optimizer.param_groups[0]["lr"], total_steps=steps)


RECIPES = {
    "lenet": Recipe(LeNet, data.large_digits, nn.CrossEntropyLoss(), _sgd(0.2), _constant, 100),
    "resnet": Recipe(ResNet, data.digits, nn.CrossEntropyLoss(label_smoothing=0.1), _adamw(1e-2), _one_cycle, 100),
    "inception": Recipe(Inception, data.digits, nn.CrossEntropyLoss(), _sgd(0.05), _cosine, 100),
    "unet": Recipe(UNet, data.noisy_discs, nn.BCEWithLogitsLoss(), _adamw(1e-2), _cosine, 32),
    "segnet": Recipe(SegNet3d, data.noisy_volumes, nn.MSELoss(), _adamw(1e-2), _constant, 16),
    "transformer": Recipe(Transformer, data.digit_sequences, nn.CrossEntropyLoss(), _adamw(1e-2), _one_cycle, 100),
}
