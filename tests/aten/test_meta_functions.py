"""The shapes that phase 1 asks of outputs, and the data types that it takes, against those of torch's functions without data (device meta).

Which operator of ATen an entry point is follows from its name and its arguments, so that a new one needs nothing here.
"""

import re
from random import Random
from typing import Any

import pytest
import torch
from arguments import Handles
from hostile_calls.call import Call
from hostile_calls.changes import another_shape
from hostile_calls.drawn import Draw
from meta_operators import described, is_output, operator_of
from sound_calls import ENTRY_POINTS, answer
from torch_aclnn.host.registry import EntryPoint
from unrefused import may_be_left

from support.client import Client
from support.named_operators import DATA_TYPES
from support.tensors import Tensor

DRAWS = 3  # draws for each entry point
# Entry points that are another operator than their name says, or have results in another order.
DIFFERENT = {
    "aclnnCtcLoss": "a loss for each sequence, of which ctc_loss gives the mean",
    "aclnnFlatten": "a matrix, of the dimensions before the axis and those from it on",
    "aclnnGatherV2": "index_select with indices of any number of dimensions",
    "aclnnSvd": "the singular values come first",
}
LARGEST = 4096


def resized(seed: int, entry_point: EntryPoint) -> Call:
    """Return a call with other sizes and data types; of one input, mostly with another shape."""
    rng = Random(f"{seed}:{entry_point}")
    call = Draw(seed, f"{entry_point}").variant(entry_point)
    outputs = {parameter.name for parameter in entry_point.parameters if is_output(parameter)}
    inputs = [place for place in call.tensors() if place.parameter not in outputs]
    if inputs and rng.random() < 0.6:
        place = rng.choice(inputs)
        shape = another_shape(rng, call.tensors()[place].shape)
        if len(shape) <= 8 and all(0 <= size < 20 for size in shape):
            call.replace(place, call.tensors()[place].but(shape=shape))
    return call


def refusal(client: Client, handles: Handles, call: Call, **changes: Any) -> tuple[str, str] | None:
    """Return which parameter phase 1 refuses and why; None if it takes the call."""
    code, message = answer(client, handles, call.entry_point, {**call.arguments, **changes})
    if code == 0:
        return None
    found = re.fullmatch(r"\w+: (\w+)(?:\[\d+\])?: (.*)", message, re.DOTALL)
    return found.groups() if found else ("", message)


def differences(client: Client, handles: Handles, call: Call, results: dict[str, torch.Tensor]) -> list[str]:
    """Return how phase 1 answers outputs of these shapes and types otherwise than it should, and longer ones."""
    shapes = {name: tuple(result.shape) for name, result in results.items()}
    outputs = {n: call.arguments[n].but(shape=shapes[n], dtype=DATA_TYPES[result.dtype], strides=None) for n, result in results.items()}
    answer = refusal(client, handles, call, **outputs)
    if answer is not None:
        of_output = answer[0] in results and re.match(r"expected (shape|\d+ elements|a data type)", answer[1])
        return [f"{call.entry_point}: {answer} where torch has {results}: {call}"] if of_output else []
    longer = {name: (*shape[:-1], shape[-1] + 1) if shape else (2,) for name, shape in shapes.items()}
    taken = [name for name in outputs if refusal(client, handles, call, **{**outputs, name: outputs[name].but(shape=longer[name])}) is None]
    return [f"{call.entry_point}: {name} of shape {longer[name]} is taken where torch has {shapes}: {call}" for name in taken]


@pytest.mark.every
def test_outputs_are_those_that_torchs_functions_describe(client, handles):
    found, compared = [], set()
    for entry_point in ENTRY_POINTS:
        known = None if entry_point.name in DIFFERENT else operator_of(entry_point)
        for seed in range(DRAWS) if known else ():
            call = resized(seed, entry_point)
            results = described(*known, entry_point, call.arguments)
            if not results or not all(isinstance(result, torch.Tensor) and result.numel() < LARGEST for result in results):
                continue
            names = [parameter.name for parameter in entry_point.parameters if is_output(parameter)]
            known_results = zip(names, results, strict=False)
            asked = {n: r for n, r in known_results if isinstance(call.arguments[n], Tensor) and not may_be_left(entry_point.name, n)}
            found += differences(client, handles, call, asked)
            compared |= {entry_point.name} if asked else set()
    assert found == []
    assert len(compared) > 240
