"""What data loading workers run. A spawned worker imports this module."""

import torch_aclnn  # noqa: F401  # before torch: a worker that uses npu needs the engine
import torch
from torch import Tensor
from torch.utils.data import Dataset


class Squares(Dataset):
    """Sample i is (i, i * i), computed on the device by the worker."""

    def __init__(self, device: str) -> None:
        self.device = device

    def __len__(self) -> int:
        return 8

    def __getitem__(self, i: int) -> tuple[Tensor, Tensor]:
        value = torch.tensor(float(i), device=self.device)
        return value.cpu(), value.square().cpu()
