"""What tests of `convert` and `revert` share."""

import io

import torch


def make_model() -> torch.nn.Sequential:
    return torch.nn.Sequential(
        torch.nn.ReplicationPad2d(1),
        torch.nn.Conv2d(3, 4, 3),
        torch.nn.Sequential(torch.nn.BatchNorm2d(4), torch.nn.AvgPool2d(2)),
        torch.nn.AdaptiveAvgPool2d(1),
    )


def saved_and_loaded(module: torch.nn.Module) -> torch.nn.Module:
    file = io.BytesIO()
    torch.save(module, file)
    file.seek(0)
    return torch.load(file, weights_only=False)
