"""Operators that are called by name compute what torch's functions do on the CPU, and there is none that nothing calls."""

import functools
import json
from pathlib import Path

import pytest
import torch
from torch_aclnn.host.registry import named_operators

from by_name.functions import CASES, ONE, TWO, difference
from support.marks import of_a2_and_a3, skip_with
from support.named_operators import run
from support.subprocesses import host_mode, output_of

# Called by what has tests of its own: copies (test_layouts.py), implicit gradients of losses (test_training.py), the overflow register, and
# what torch_npu computes in float16.
OTHERS = {"Identity", "Iou", "OnesLike", *(f"NPU{verb}FloatStatus" for verb in ("Alloc", "Clear", "Get"))}
OTHERS |= {"NPUClearFloatStatusV2", "NPUGetFloatStatusV2"}
MODES = {"compiled": "Ascend910B3", "half": "Ascend310P3"}


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory):
    """Return in what the cases of a mode differ, and which operators each has called, from a process of its own."""

    @functools.cache
    def ask(mode):
        trace = str(tmp_path_factory.mktemp(mode) / "trace.jsonl")
        settings = {"TORCH_ACLNN_HOST_SOC": MODES[mode], "TORCH_ACLNN_HOST_TRACE": trace, **host_mode(without=("strict", "unspecified"))}
        begin = f"import sys, torch_aclnn; sys.path.append({str(Path(__file__).parents[1])!r})"
        printed = output_of(f"{begin}; from by_name.functions import main; main({mode!r})", **settings)
        return json.loads(printed.splitlines()[-1])

    return ask


def operators(name):
    return {word for word in name.split() if not word.isdigit()}


def skip_what_torch_does_not_do(name):
    if name == "DynamicRNN DynamicRNNGrad":
        skip_with("2.8", "2.8", "torch.func.functional_call does not give torch.nn.LSTM its parameters")


@pytest.mark.parametrize("name", CASES)
def test_compiled(outcomes, name):
    skip_what_torch_does_not_do(name)
    found, tasks = outcomes("compiled")[name]
    assert not found and operators(name) <= set(tasks)


@pytest.mark.parametrize("name", ONE | TWO)
def test_behind_a_half_convolution_by_default(outcomes, name):
    found, tasks = outcomes("half")[name]
    assert not found and operators(name) <= set(tasks)


@of_a2_and_a3
@pytest.mark.filterwarnings("ignore:torch.triangular_solve")
@pytest.mark.parametrize("name", CASES)
def test_by_default(name):
    skip_what_torch_does_not_do(name)
    assert not difference(CASES[name])


@pytest.mark.parametrize(("name", "gates", "first", "order"), [("DynamicRNN", 4, 1, "ifjo"), ("DynamicGRUV2", 3, 0, "rzh")])
def test_two_gates_are_transposed_by_default(acl, name, gates, first, order):
    def transposed(tensor):
        parts = list(tensor.chunk(gates, -1))
        parts[first], parts[first + 1] = parts[first + 1], parts[first]
        return torch.cat(parts, -1)

    all_gates, lstm, draw = 5 * gates, name == "DynamicRNN", torch.Generator().manual_seed(0)
    x, h, c, weight, of_state, bias, other = (
        torch.randn(size, generator=draw) for size in ((3, 2, 4), (2, 5), (2, 5), (4, all_gates), (5, all_gates), all_gates, all_gates)
    )
    weights, states = ([torch.cat([weight, of_state]), bias], [h, c]) if lstm else ([weight, of_state, bias, other], [h])
    results = [torch.zeros(3, 2, 5)] * (8 if lstm else 6)
    expected = run(acl, name, [x, *weights, None, *states], results, gate_order=order)
    got = run(acl, name, [x, *map(transposed, weights), None, *states], results)
    torch.testing.assert_close(got, expected)
    y, hs, cs, *saved = expected if lstm else (*expected[:2], None, *expected[2:])
    given = [*weights[:2], y, *states, hs, *([cs] if lstm else []), hs + 1, *states, *saved, None]
    gradients = [*weights, x, *states]
    expected = run(acl, f"{name}Grad", [x, *given], gradients, gate_order=order)
    got = run(acl, f"{name}Grad", [x, *map(transposed, given[:2]), *given[2:]], gradients)
    torch.testing.assert_close([*map(transposed, got[: len(weights)]), *got[len(weights) :]], expected)


def test_there_is_no_operator_that_nothing_calls():
    assert set().union(*map(operators, CASES)) | OTHERS == set(named_operators())
