"""Attention and experts on devices of their own (npu_attention_to_ffn, npu_ffn_to_attention and the workers between them), beside the same
layer in one process."""

import pytest
import torch

from support.attention_ffn_layer import CHOICES, EXPERTS, FFN, SESSIONS, computed, operands, place_of, run
from support.rank_calls import call_in_ranks, values_of


@pytest.mark.parametrize(("quantised", "active"), [(False, 3), (True, 2)])
def test_layer_equals_that_of_one_process(quantised: bool, active: int) -> None:
    results = values_of(call_in_ranks(f"{run.__module__}:run", FFN + SESSIONS, quantised, active, backend="hccl"))
    for step in range(2):
        counts: dict[tuple[int, int], int] = {}
        for session in range(SESSIONS):
            x, ids, scales = operands(session, step)
            tokens = x.double()
            if quantised:
                largest = tokens.abs().amax(1, keepdim=True)
                tokens = (tokens * 127 / largest).round() * largest / 127
            for token in range(active):
                total = torch.zeros(x.shape[1], dtype=torch.float64)
                for choice, expert in enumerate([*ids[token].tolist(), EXPERTS]):
                    rank, number = place_of(session, expert)
                    counts[rank, number] = counts.get((rank, number), 0) + 1
                    result = computed(tokens[token].half(), number).double()
                    total += result * (scales[token, choice].double() if choice < CHOICES else 1)
                torch.testing.assert_close(results[FFN + session][step][token].double(), total, rtol=4e-3, atol=2e-2 if quantised else 2e-3)
        for rank in range(FFN):
            numbers = sorted([number, count] for (of_rank, number), count in counts.items() if of_rank == rank)
            assert results[rank][step].tolist() == numbers + [[0, 0]] * (8 - len(numbers))
