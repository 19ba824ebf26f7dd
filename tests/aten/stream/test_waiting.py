"""waiting.cpp against definitions in float64."""

import time

import torch
import torch_npu


def test_sleep():
    torch.npu.synchronize()
    begin = time.monotonic()
    torch_npu.npu._sleep(200_000_000)
    torch.npu.synchronize()
    assert time.monotonic() - begin >= 0.2
