"""Many threads on few streams of two devices: `concurrency.py <seconds>`. Prints how many results were compared with the CPU's."""

import random
import sys
import threading
import time
from collections.abc import Callable

import torch_aclnn
import torch
from torch.nn.functional import batch_norm, conv2d, cross_entropy, max_pool3d
from torch_aclnn.functional import adaptive_avg_pool2d, avg_pool2d, max_unpool3d, replication_pad2d

THREADS, STREAMS, DEVICES = 16, 4, 2


def pooled(x: torch.Tensor) -> torch.Tensor:
    return avg_pool2d(x, 2).sum() + adaptive_avg_pool2d(x, 3).square().sum()


def padded(x: torch.Tensor) -> torch.Tensor:
    return conv2d(replication_pad2d(x, 1), torch.ones(2, 4, 3, 3, device=x.device)).tanh().sum()


def unpooled(x: torch.Tensor) -> torch.Tensor:
    values, indices = max_pool3d(x.unsqueeze(0), 2, return_indices=True)
    return max_unpool3d(values, indices, 2).square().sum()


def normed(x: torch.Tensor) -> torch.Tensor:
    return batch_norm(x, None, None, training=True).cos().sum()


def classified(x: torch.Tensor) -> torch.Tensor:
    return cross_entropy(x.flatten(1) @ torch.ones(256, 5, device=x.device).cumsum(1), torch.zeros(4, dtype=torch.long, device=x.device))


FUNCTIONS = (pooled, padded, unpooled, normed, classified)


def gradient(function: Callable[[torch.Tensor], torch.Tensor], data: torch.Tensor) -> torch.Tensor:
    leaf = data.detach().requires_grad_()
    (found,) = torch.autograd.grad(function(leaf), leaf)
    return found


def work(
    number: int, data: torch.Tensor, streams: list[list[torch.npu.Stream]], end: float, compared: list[int], errors: list[BaseException]
) -> None:
    chance = random.Random(number)
    expected = [gradient(function, data) for function in FUNCTIONS]
    try:
        while time.monotonic() < end:
            device, kind = chance.randrange(DEVICES), chance.randrange(len(FUNCTIONS))
            with torch.npu.device(device), torch.npu.stream(streams[device][chance.randrange(STREAMS)]):
                found = gradient(FUNCTIONS[kind], data.npu())
                torch.testing.assert_close(found.cpu(), expected[kind], rtol=1e-4, atol=1e-5)
            compared[number] += 1
    except BaseException as error:  # whatever ends a thread, the program fails with it
        errors.append(error)


def main() -> None:
    streams = [[torch.npu.Stream(device) for _ in range(STREAMS)] for device in range(DEVICES)]
    data = torch.randn(THREADS, 4, 4, 8, 8, generator=torch.Generator().manual_seed(0))
    torch.tanh(data)  # torch's first call of a vector function must not meet others: theirs would have 12 correct bits
    end, compared, errors = time.monotonic() + float(sys.argv[1]), [0] * THREADS, []
    threads = [threading.Thread(target=work, args=(number, data[number], streams, end, compared, errors)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    assert torch_aclnn.host.is_active()
    print(min(compared), sum(compared))


if __name__ == "__main__":
    main()
