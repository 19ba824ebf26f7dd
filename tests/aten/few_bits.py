"""Numbers of four and of eight bits, and how they lie in memory."""

import ctypes

import torch

INT4 = 29


def near(got, exact):
    """Whether each integer is the nearest to the exact number, or as good as that."""
    return bool(((got.double() - exact).abs() <= 0.5 + 1e-6 * exact.abs().clamp(min=1)).all())


def numbers_of(words):
    """The 4-bit numbers of 32-bit words, the lowest bits first, one by one."""
    numbers = [[((int(word) >> 4 * i) + 8) % 16 - 8 for i in range(8)] for word in words.flatten().tolist()]
    return torch.tensor(numbers, dtype=torch.float64).reshape(*words.shape[:-1], -1)


def words_of(numbers):
    """The opposite, on the CPU."""
    words = [sum((int(n) & 15) << 4 * i for i, n in enumerate(row)) for row in numbers.reshape(-1, 8).tolist()]
    return torch.tensor([w - (1 << 32) if w >> 31 else w for w in words], dtype=torch.int32).reshape(*numbers.shape[:-1], -1)


def bytes_of(numbers):
    low, high = (numbers.reshape(*numbers.shape[:-1], -1, 2)[..., i].to(torch.int32) & 15 for i in range(2))
    return (low | high << 4).to(torch.uint8)


def four_bits(*shape):
    return torch.randint(-8, 8, shape)


def half_a_byte(tensor, shape):
    """A handle for the bytes of a tensor as numbers of INT4."""
    library = ctypes.CDLL("libopapi.so")
    library.aclCreateTensor.restype = ctypes.c_void_p
    sizes = (ctypes.c_int64 * len(shape))(*shape)
    rank = ctypes.c_uint64(len(shape))
    address = ctypes.c_void_p(tensor.data_ptr())
    return ctypes.c_void_p(library.aclCreateTensor(sizes, rank, INT4, None, ctypes.c_int64(0), 2, sizes, rank, address))


def integers(*shape):
    return torch.randint(-128, 128, shape, dtype=torch.int8)
