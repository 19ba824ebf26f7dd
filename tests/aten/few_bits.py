"""Numbers of four and of eight bits, and how they lie in memory."""

import torch
import torch.nn.functional as F
from checks import close
from definitions import by_rows

from direct import described

INT4 = 29
EIGHT_BITS = {"float8_e4m3fn": (torch.float8_e4m3fn, 8, 448.0), "float8_e5m2": (torch.float8_e5m2, 15, 57344.0)}


def near(got, exact):
    """Whether each integer is the nearest to the exact number, or as good as that."""
    return bool(((got.double() - exact).abs() <= 0.5 + 1e-6 * exact.abs().clamp(min=1)).all())


def assert_nearest(got, exact):
    """Check that integers of eight bits, or of four in words, are the nearest that the type has."""
    got, (low, high) = (numbers_of(got.cpu()), (-8, 7)) if got.dtype == torch.int32 else (got.cpu(), (-128, 127))
    assert near(got, exact.clamp(low, high))


def assert_nearest_rows(got, scale, exact):
    """Check integers, whose largest in each row is the type's, and the numbers by which the rows were divided."""
    numbers, expected = by_rows(exact, 7 if got.dtype == torch.int32 else 127)
    close(scale, expected, 1e-5)
    assert_nearest(got, numbers)


def numbers_of(words):
    """The 4-bit numbers of 32-bit words, the lowest bits first, one by one."""
    numbers = [[((int(word) >> 4 * i) + 8) % 16 - 8 for i in range(8)] for word in words.flatten().tolist()]
    return torch.tensor(numbers, dtype=torch.float64).reshape(*words.shape[:-1], -1)


def words_of(numbers):
    """Return the 32-bit words of 4-bit numbers, on the CPU."""
    words = [sum((int(n) & 15) << 4 * i for i, n in enumerate(row)) for row in numbers.reshape(-1, 8).tolist()]
    return torch.tensor([w - (1 << 32) if w >> 31 else w for w in words], dtype=torch.int32).reshape(*numbers.shape[:-1], -1)


def bytes_of(numbers):
    low, high = (numbers.reshape(*numbers.shape[:-1], -1, 2)[..., i].to(torch.int32) & 15 for i in range(2))
    return (low | high << 4).to(torch.uint8)


def four_bits(*shape):
    return torch.randint(-8, 8, shape)


def half_a_byte(tensor, shape):
    """A handle for the bytes of a tensor as numbers of INT4."""
    return described(tensor.data_ptr(), shape, None, shape, dtype=INT4)


def integers(*shape):
    return torch.randint(-128, 128, shape, dtype=torch.int8)


def powers_of_two(x, axis, emax, block=32):
    """For each block along the axis floor(log2(largest)) - emax, in pairs."""
    parts = x.double().split(block, axis)
    largest = torch.stack([part.abs().amax(axis) for part in parts], axis)
    exponents = (torch.frexp(largest).exponent - 1 - emax).where(largest > 0, -127).clamp(-127, 127)
    scales = torch.cat([2.0 ** exponents.double().select(axis, i).unsqueeze(axis).expand_as(p) for i, p in enumerate(parts)], axis)
    moved = F.pad(exponents.movedim(axis, -1), (0, len(parts) % 2), value=-127).unflatten(-1, (-1, 2))
    return scales, (moved.movedim(-2, axis if axis >= 0 else axis + x.dim()) + 127).to(torch.uint8)
