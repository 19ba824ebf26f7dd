"""Identity: conversion between plain and private formats is exact both ways and fills up with zeros."""

import math

import hypothesis
import pytest
import torch
from hypothesis import strategies

from support.dtypes import Format
from support.named_operators import DATA_TYPES, Stored, refuses, run
from support.private_formats import DIMENSIONS, FRACTAL_Z, PLAIN, in_memory, storage_sizes

FORMATS = list(DIMENSIONS)


def random_tensor(sizes, dtype, seed):
    """Any bits that the type has, so that nothing but a copy gives them again."""
    element = torch.empty((), dtype=dtype).element_size()
    source = torch.Generator().manual_seed(seed)
    if dtype == torch.bool:
        return torch.randint(0, 2, sizes, dtype=torch.uint8, generator=source).bool()
    content = torch.randint(0, 256, (max(math.prod(sizes), 1) * element,), dtype=torch.uint8, generator=source)
    return content.view(dtype)[: math.prod(sizes)].reshape(sizes)


def bits(tensor):
    return tensor.contiguous().reshape(-1).view(torch.uint8)


@strategies.composite
def tensors(draw):
    kind = draw(strategies.sampled_from(FORMATS))
    low, high = DIMENSIONS[kind]
    sizes = draw(strategies.lists(strategies.sampled_from([1, 2, 3, 15, 16, 17, 33]), min_size=low, max_size=high))
    hypothesis.assume(math.prod(sizes) <= 20000)
    return kind, random_tensor(sizes, draw(strategies.sampled_from(list(DATA_TYPES))), draw(strategies.integers(0, 1000)))


@hypothesis.settings(max_examples=60, suppress_health_check=list(hypothesis.HealthCheck))
@hypothesis.given(tensors(), strategies.sampled_from([8, 16, 32]))
def test_conversion_is_exact_both_ways(acl, given, columns):
    kind, tensor = given
    expected = in_memory(kind, tensor, columns)
    place = Stored(torch.ones(expected.shape).to(tensor.dtype), kind, tensor.shape, PLAIN[kind])
    (stored,) = run(acl, "Identity", [tensor], [place])
    assert torch.equal(bits(stored), bits(expected))
    (back,) = run(acl, "Identity", [Stored(expected, kind, tensor.shape, PLAIN[kind])], [torch.zeros_like(tensor)])
    assert torch.equal(bits(back), bits(tensor))


def test_conversion_between_private_formats_is_exact(acl):
    tensor = random_tensor((17, 18, 3, 2), torch.float32, 0)
    source = Stored(in_memory(Format.NC1HWC0, tensor, 16), Format.NC1HWC0, tensor.shape, Format.NCHW)
    expected = in_memory(FRACTAL_Z, tensor, 16)
    (converted,) = run(acl, "Identity", [source], [Stored(torch.ones_like(expected), FRACTAL_Z, tensor.shape, Format.NCHW)])
    assert torch.equal(bits(converted), bits(expected))


def test_tensor_without_elements(acl):
    (stored,) = run(acl, "Identity", [torch.empty(0, 5)], [Stored(torch.empty(1, 0, 16, 16), Format.FRACTAL_NZ, (0, 5))])
    assert stored.numel() == 0


@pytest.mark.parametrize(
    ("kind", "sizes", "memory", "words"),
    [
        (Format.NC1HWC0, (2, 17, 3, 4), (2, 1, 3, 4, 16), "input 0: expected shape [2, 2, 3, 4, 16] in memory"),
        (Format.NC1HWC0, (2, 17, 3, 4, 5), (2, 2, 3, 4, 16), "at most 4 dimensions for format NC1HWC0"),
        (Format.NDC1HWC0, (2, 17, 3, 4), (2, 3, 2, 4, 1, 16), "5 dimensions for format NDC1HWC0"),
        (Format.FRACTAL_NZ, (17, 3), (2, 1, 16, 16), "input 0: expected shape [1, 2, 16, 16] in memory"),
        (Format.FRACTAL_NZ, (17, 3), (544,), "2 or more dimensions in memory"),
        (Format.FRACTAL_NZ, (17, -3), (1, 2, 16, 16), "no negative dimension for format FRACTAL_NZ"),
        (Format.FRACTAL_NZ, (1 << 62, 1 << 62), (1, 2, 16, 16), "input 0: expected"),
        (FRACTAL_Z, (1, 1 << 62, 1 << 40, 3), (1, 2, 16, 16), "a number of blocks that can be counted"),
    ],
)
def test_memory_that_is_not_of_the_format_is_refused(acl, kind, sizes, memory, words):
    refuses(acl, words, "Identity", [Stored(torch.ones(memory), kind, sizes)], [torch.ones(4)])


def test_shapes_of_the_definition_are_those_that_the_oracle_uses():
    assert storage_sizes(Format.FRACTAL_NZ, (2, 3, 17, 33), 16) == [2, 3, 3, 2, 16, 16]
    assert storage_sizes(Format.NC1HWC0, (2, 17, 3, 4), 16) == [2, 2, 3, 4, 16]
