"""What a rank alone of Megatron-LM or MindSpeed would have from other ranks: whether there is data, lengths and shapes."""

import contextlib
import functools
import sys
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from torch_aclnn.loading.findings import add_finding


def _around(name: str, function: Callable[..., Any]) -> Callable[[Any], None]:
    """Return the change of a module in which the function, which gets the original first, stands in for that of the name."""

    def change(module: Any) -> None:
        original = getattr(module, name, None)
        if original is not None:
            setattr(module, name, functools.wraps(original)(functools.partial(function, original)))

    return change


def _options() -> Any:
    """Return the options of Megatron's training, or None if the program uses its core alone."""
    return getattr(sys.modules.get("megatron.training.global_vars"), "_GLOBAL_ARGS", None)


def _build_loaders(build: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Set the options to train, validate and test on each rank: the first one has the data and decides for the others."""
    loaders, options = build(*args, **kwargs), _options()
    options.do_train = options.train_iters > 0
    options.do_valid = options.do_test = options.eval_iters > 0
    add_finding("the first rank has data to train, validate and test with")
    return loaders


def _broadcast_lengths(broadcast: Callable[[Any], Any], item: Any) -> Any:
    """Take each row for one sequence where the first tensor-parallel rank has the lengths of packed ones."""
    if item is None and _options() is not None:
        item = sys.modules["torch"].arange(1, _options().micro_batch_size + 1) * _options().seq_length
        add_finding("each row of a batch from the first tensor-parallel rank is one sequence")
    return broadcast(item)


def _read_batch(read: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Take the batch that this rank has read for that of the first tensor-parallel rank, which sends it."""
    state: Any = sys.modules["megatron.core.parallel_state"]
    if state.get_tensor_model_parallel_rank() == 0 or any(each is None for each in (*args, *kwargs.values())):
        return read(*args, **kwargs)
    add_finding("the batch of the first tensor-parallel rank is as long as that which this rank has read")
    state.set_tensor_model_parallel_rank(0)
    try:
        return read(*args, **kwargs)
    finally:
        state.set_tensor_model_parallel_rank(None)


class _Ahead:
    """The batches of a step, whose lengths are known before they are taken."""

    def __init__(self, batches: Any) -> None:
        self._batches = batches
        self._waiting: deque[Any] = deque()
        self._lengths: list[int | None] = []

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        if not self._waiting:
            self._read()
        return self._waiting.popleft()

    def length(self, number: int) -> int | None:
        """Return the length of a batch for tuning, or None for any other and where there is none."""
        with contextlib.suppress(StopIteration):
            while len(self._lengths) <= number:
                self._read()
        return self._lengths[number] if number < len(self._lengths) else None

    def _read(self) -> None:
        batch = next(self._batches)
        self._waiting.append(batch)
        columns = batch.items() if isinstance(batch, Mapping) else ()
        self._lengths.append(max((column.shape[1] for name, column in columns if name.endswith("input_ids")), default=None))


_lengths_received: Iterator[int | None] = iter(())


def _get_step(get: Callable[[], Callable[..., Any]]) -> Callable[..., Any]:
    """Read batches ahead where their lengths vary, since a stage receives activations before it reads the batch that they belong to."""
    run = get()

    @functools.wraps(run)
    def step(*args: Any, **options: Any) -> Any:
        global _lengths_received
        batches = options.get("data_iterator")
        chunks = batches if isinstance(batches, list) else [batches]
        if getattr(_options(), "variable_seq_lengths", False) and None not in chunks:
            ahead = [_Ahead(chunk) for chunk in chunks]
            options["data_iterator"] = ahead if isinstance(batches, list) else ahead[0]
            numbers = _microbatches_received(options["num_microbatches"], len(chunks))
            _lengths_received = (ahead[0].length(number) for number in numbers)
        return run(*args, **options)

    return step


def _microbatches_received(count: int, chunks: int) -> Iterator[int]:
    """Number the microbatches whose activations come from the stage before: a group for each chunk in turn."""
    state: Any = sys.modules["megatron.core.parallel_state"]
    group = getattr(_options(), "microbatch_group_size_per_vp_stage", None) or state.get_pipeline_model_parallel_world_size()
    for start in range(0, count, group):
        for chunk in range(chunks):
            if chunk or state.get_pipeline_model_parallel_rank() > 0:
                yield from range(start, min(start + group, count))


def _communicate_shapes(
    communicate: Callable[..., Any], send_next: Any, send_previous: Any, receive_previous: bool, receive_next: bool, *args: Any
) -> Any:
    """Take what this stage reads for what the one before has read, and whole sequences where no length is known."""
    previous, following = communicate(send_next, send_previous, receive_previous, receive_next, *args)
    if _options() is None:
        return previous, following
    length = next(_lengths_received, None) if receive_previous else None
    if receive_previous and (length or not any(previous)):
        previous = _shape_of_activations(length)
    if receive_next and not any(following):
        following = _shape_of_activations(None)
    return previous, following


def _shape_of_activations(length: int | None) -> list[int]:
    options = _options()
    parts = options.context_parallel_size * (options.tensor_model_parallel_size if options.sequence_parallel else 1)
    if length is None:
        add_finding("a stage of the pipeline gets whole sequences from the one before")
    sequences = getattr(options, "actual_micro_batch_size", None) or options.micro_batch_size
    return [(length or options.seq_length) // parts, sequences, options.hidden_size]


_broadcast, _shapes = _around("broadcast_dynamic", _broadcast_lengths), _around("_communicate_shapes", _communicate_shapes)
# The modules of Megatron-LM, and those of MindSpeed, which replace some.
CHANGES = {
    "megatron.training.training": _around("build_train_valid_test_data_loaders", _build_loaders),
    "mindspeed.utils": _broadcast,
    "mindspeed.core.context_parallel.get_batch_utils": _broadcast,
    "mindspeed_llm.training.utils": _around("get_finetune_data_on_this_tp_rank", _read_batch),
    "megatron.core.tensor_parallel.data": _around("broadcast_data", _read_batch),
    "megatron.core.pipeline_parallel.schedules": _around("get_forward_backward_func", _get_step),
    "megatron.core.pipeline_parallel.p2p_communication": _shapes,
    "mindspeed.core.pipeline_parallel.p2p_communication": _shapes,
}
