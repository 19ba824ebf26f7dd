"""PyTorch's samples of functions and of modules in one form: tensors, and what to call with them."""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.utils._pytree import tree_flatten, tree_unflatten

from opinfo.entries import Case
from opinfo.entry import Entry


@dataclass(frozen=True)
class Sample:
    """Tensors on cpu, and the call of an implementation with such tensors, wherever they are."""

    summary: str
    tensors: list[Tensor]
    call: Callable[[Callable[..., Any], list[Tensor]], Tensor]


@dataclass(frozen=True)
class BadSample(Sample):
    """A sample that is refused, and how PyTorch does it."""

    error: type[Exception]
    words: str


def samples(case: Case) -> list[Sample]:
    """Return PyTorch's samples of a case."""
    return _bad_samples(case.entry) if case.check == "errors" else _good_samples(case.entry, case.dtype)


@functools.cache
def _good_samples(entry: Entry, dtype: torch.dtype) -> list[Sample]:
    with torch.random.fork_rng(devices=()):
        torch.manual_seed(20)  # the number of samples can depend on their values
        return (_module_samples if entry.is_module else _function_samples)(entry, dtype)


@functools.cache
def _bad_samples(entry: Entry) -> list[BadSample]:
    if entry.is_module:
        inputs = entry.info.module_error_inputs_func(entry.info, "cpu", torch.float32, requires_grad=False, training=True)
        made = [(_module_sample(entry, e.module_error_input, training=True), e) for e in inputs]
    else:
        made = [(_function_sample(e.sample_input), e) for e in entry.info.error_inputs("cpu")]
    return [BadSample(s.summary, s.tensors, s.call, e.error_type, e.error_regex) for s, e in made]


def _function_samples(entry: Entry, dtype: torch.dtype) -> list[Sample]:
    differentiable = dtype.is_floating_point or dtype.is_complex
    return [_function_sample(s) for s in entry.info.sample_inputs("cpu", dtype, requires_grad=differentiable) if entry.takes(s)]


def _function_sample(sample: Any) -> Sample:
    leaves, structure = tree_flatten((sample.input, sample.args, sample.kwargs))
    places = [i for i, leaf in enumerate(leaves) if isinstance(leaf, Tensor)]

    def call(function: Callable[..., Any], tensors: list[Tensor]) -> Tensor:
        arguments = list(leaves)
        for place, tensor in zip(places, tensors, strict=True):
            arguments[place] = tensor
        input, args, kwargs = tree_unflatten(arguments, structure)
        return _first(function(input, *args, **kwargs))

    return Sample(sample.summary(), [leaves[i].detach().requires_grad_(leaves[i].requires_grad) for i in places], call)


def _module_samples(entry: Entry, dtype: torch.dtype) -> list[Sample]:
    info, result = entry.info, []
    for training in (True, False) if info.train_and_eval_differ else (True,):
        inputs = info.module_inputs_func(info, "cpu", dtype, requires_grad=True, training=training)
        result += [_module_sample(entry, i, training, dtype) for i in inputs]
    return result


def _module_sample(entry: Entry, module_input: Any, training: bool, dtype: torch.dtype = torch.float32) -> Sample:
    constructor, forward = module_input.constructor_input, module_input.forward_input
    # Parameters and buffers are tensors of the sample, as the input is.
    state = entry.info.module_cls(*constructor.args, **constructor.kwargs).to(dtype)
    names = [name for name, _ in (*state.named_parameters(), *state.named_buffers())]
    tensors = [*forward.args, *state.parameters(), *state.buffers()]
    assert not forward.kwargs

    def call(module_class: Callable[..., Any], tensors: list[Tensor]) -> Tensor:
        module = module_class(*constructor.args, **constructor.kwargs).train(training)
        inputs, values = tensors[: len(forward.args)], tensors[len(forward.args) :]
        return torch.func.functional_call(module, dict(zip(names, values, strict=True)), tuple(inputs))

    mode = "" if not entry.info.train_and_eval_differ else " in training" if training else " in evaluation"
    return Sample(f"{constructor.args} {constructor.kwargs} {[tuple(t.shape) for t in forward.args]}{mode}", tensors, call)


def _first(output: Any) -> Tensor:
    """Return the result; what the batch norms of ATen return behind it are statistics whose form is the device's own."""
    return output if isinstance(output, Tensor) else output[0]
