"""Sends an npu tensor to another process, which reads and changes it; prints its values in this process afterwards."""

import torch_aclnn  # noqa: F401
import torch
from torch import multiprocessing


def change(tensors: multiprocessing.Queue, answers: multiprocessing.Queue) -> None:
    tensor = tensors.get(timeout=100)
    tensor.add_(1)
    torch.npu.synchronize()
    answers.put(tensor.device.type)


if __name__ == "__main__":
    context = multiprocessing.get_context("spawn")
    tensors, answers = context.Queue(), context.Queue()
    other = context.Process(target=change, args=(tensors, answers))
    other.start()
    tensor = torch.arange(6.0).npu().view(2, 3)[:, 1:]
    tensors.put(tensor)
    assert answers.get(timeout=200) == "npu"
    other.join(60)
    assert other.exitcode == 0
    print(tensor.tolist())
