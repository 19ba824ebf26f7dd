"""A rank alone of Megatron-LM and MindSpeed: what it would have from other ranks follows from its options and its own data."""

from pathlib import Path

import pytest

from support.subprocesses import output_of

# What of their modules is changed, by path.
MODULES = {
    "megatron/training/global_vars": """
from types import SimpleNamespace
sizes = dict(context_parallel_size=2, tensor_model_parallel_size=4, sequence_parallel=True, variable_seq_lengths=True)
train = dict(train_iters=5, eval_iters=0, do_train=0, do_valid=0, do_test=0)
_GLOBAL_ARGS = options = SimpleNamespace(seq_length=64, micro_batch_size=3, hidden_size=5, **sizes, **train)
""",
    "megatron/training/training": "build_train_valid_test_data_loaders = lambda provider: (None, None, None)",
    "megatron/core/parallel_state": """
own = None
def set_tensor_model_parallel_rank(rank):
    global own
    own = rank
get_tensor_model_parallel_rank = lambda: 1 if own is None else own
get_pipeline_model_parallel_rank, get_pipeline_model_parallel_world_size = lambda: STAGE, lambda: 2
""",
    "megatron/core/pipeline_parallel/p2p_communication": """
def _communicate_shapes(send_next, send_previous, receive_previous, receive_next, config):
    return [0, 0, 0], [7, 7, 7] if receive_next else [0, 0, 0]
""",
    "megatron/core/pipeline_parallel/schedules": """
get_forward_backward_func = lambda: lambda *, data_iterator, num_microbatches: data_iterator
""",
    "megatron/core/tensor_parallel/data": """
from megatron.core import parallel_state
broadcast_data = lambda keys, data, datatype: (data, parallel_state.get_tensor_model_parallel_rank())
""",
    "mindspeed/utils": "broadcast_dynamic = lambda item: item",
    "mindspeed_llm/training/utils": """
from megatron.core import parallel_state
get_finetune_data_on_this_tp_rank = lambda batches: (next(batches), parallel_state.get_tensor_model_parallel_rank())
""",
}
PROGRAM = """
import sys; sys.path.append({folder!r})
import torch, torch_aclnn
from megatron.core import parallel_state
from megatron.core.pipeline_parallel.p2p_communication import _communicate_shapes
from megatron.core.tensor_parallel.data import broadcast_data
from megatron.core.pipeline_parallel.schedules import get_forward_backward_func
from megatron.training import global_vars, training
from mindspeed.utils import broadcast_dynamic
from mindspeed_llm.training.utils import get_finetune_data_on_this_tp_rank

def batches(*lengths):
    return iter([{{"input_ids": torch.zeros(3, length)}} for length in lengths])

def received():
    return _communicate_shapes(None, None, True, False, None)[0][0] * 8
"""


def outcome_of(folder: Path, code: str, stage: int = 1) -> str:
    for module, text in MODULES.items():
        file = folder / f"{module}.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text.replace("STAGE", str(stage)))
    variables = {"TORCH_ACLNN_HOST_RANK_ALONE": "1", "RANK": "1", "WORLD_SIZE": "2"}
    return output_of(PROGRAM.format(folder=str(folder)) + code, **variables).strip()


def test_each_rank_is_told_that_there_is_data(tmp_path: Path) -> None:
    assert outcome_of(tmp_path, """
training.build_train_valid_test_data_loaders(None)
print(global_vars.options.do_train, global_vars.options.do_valid)
""") == "True False"  # fmt: skip


def test_lengths_that_are_not_known_are_those_of_whole_sequences(tmp_path: Path) -> None:
    assert outcome_of(tmp_path, """
print(_communicate_shapes(None, None, True, False, None), _communicate_shapes(None, None, False, True, None))
print(broadcast_dynamic(None).tolist(), broadcast_dynamic("own"))
""") == "([8, 3, 5], [0, 0, 0]) ([0, 0, 0], [7, 7, 7])\n[64, 128, 192] own"  # fmt: skip


def test_a_batch_for_tuning_is_this_ranks_own(tmp_path: Path) -> None:
    assert outcome_of(tmp_path, """
print(get_finetune_data_on_this_tp_rank(iter(["own"])), broadcast_data([], "read", int), broadcast_data([], None, int))
print(parallel_state.get_tensor_model_parallel_rank())
""") == "('own', 0) ('read', 0) (None, 1)\n1"  # fmt: skip


@pytest.mark.parametrize(
    ("stage", "chunks", "group", "expected"),
    [(1, 1, None, "8 16 24"), (1, 2, None, "8 16 8 16 24 24"), (0, 2, None, "8 16 24"), (1, 2, 3, "8 16 24 8 16 24")],
)
def test_activations_are_as_long_as_the_batches_that_this_stage_reads(
    tmp_path: Path, stage: int, chunks: int, group: int | None, expected: str
) -> None:
    """Two stages; of two chunks each takes two microbatches at a time, or a group, and the first stage reads those of its first chunk."""
    count = len(expected.split())
    assert outcome_of(tmp_path, f"""
global_vars.options.microbatch_group_size_per_vp_stage = {group}
step = get_forward_backward_func()
chunks = step(data_iterator=[batches(8, 16, 24) for _ in range({chunks})], num_microbatches=3)
print(*(received() for _ in range({count})), received())
print([batch["input_ids"].shape[1] for batch in chunks[0]])
""", stage) == f"{expected} 64\n[8, 16, 24]"  # fmt: skip


def test_batches_without_lengths_are_left_as_they_are(tmp_path: Path) -> None:
    """So is what a program asks that uses Megatron's core alone."""
    assert outcome_of(tmp_path, """
step = get_forward_backward_func()
taken = step(data_iterator=iter([{"text": 1}]), num_microbatches=2)
print(received(), received(), list(taken), step(data_iterator=None, num_microbatches=1))
global_vars._GLOBAL_ARGS = None
print(received(), list(step(data_iterator=iter([2]), num_microbatches=1)), broadcast_dynamic(None))
""") == "64 64 [{'text': 1}] None\n0 [2] None"  # fmt: skip
