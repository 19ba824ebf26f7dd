"""attention_ffn_workers.cpp against definitions in float64."""

import ctypes
import itertools
import threading
import time

import pytest
import torch
from checks import DEVICE, close, on_npu

from direct import refuses
from support.marks import refused_at_once

NONE = 2**31 - 1  # torch_npu fills the window with this number
SESSIONS, MICRO_BATCHES, TOKENS, EACH, FEATURES = 3, 2, 4, 3, 250
TYPES = [torch.float16, torch.bfloat16, torch.int8]


afd = pytest.importorskip("torch_npu._afd", reason="torch_npu has no contexts of workers")


class Ffn:
    """The window of a device with experts, and the context that torch_npu makes of it."""

    def __init__(self, dtype=torch.float16, size=512):
        self.dtype, self.size = dtype, size
        words = 2 + TOKENS * EACH
        self.behind = (4 * SESSIONS * MICRO_BATCHES * words + 511) // 512 * 512
        self.window = torch.zeros(self.behind + SESSIONS * MICRO_BATCHES * TOKENS * EACH * size, dtype=torch.int8).to(DEVICE)
        self.holder = afd.create_schedule_context_holder(
            schedule_mode=0, session_num=SESSIONS, micro_batch_num=MICRO_BATCHES, micro_batch_size=TOKENS, selected_expert_num=EACH,
            expert_num=6, attn_to_ffn_token_size=size, ffn_to_attn_token_size=512, ffn_window=self.window.data_ptr(),
            ffn_window_size=self.window.numel(),
        )  # fmt: skip
        self.context = self.holder.get_schedule_context_tensor()
        self.info = self.window[: 4 * SESSIONS * MICRO_BATCHES * words].view(torch.int32).view(SESSIONS, MICRO_BATCHES, words)
        self.draw = torch.Generator().manual_seed(3)
        self.sent = {}

    def arrive(self, session, micro_batch, layer=7):
        """Write what aclnnAttentionToFFN writes; some copies are for experts of other devices."""
        experts = torch.randint(0, 6, (TOKENS * EACH,), generator=self.draw, dtype=torch.int32) * 2
        experts[torch.rand(TOKENS * EACH, generator=self.draw) < 0.3] = NONE
        tokens = torch.randint(-100, 100, (TOKENS * EACH, FEATURES), generator=self.draw).to(self.dtype)
        scales = torch.rand(TOKENS * EACH, generator=self.draw)
        rows = torch.zeros(TOKENS * EACH, self.size, dtype=torch.int8)
        packed = torch.cat([tokens.view(torch.int8)] + [scales.view(-1, 1).view(torch.int8)] * (self.dtype == torch.int8), 1)
        rows[:, : packed.shape[1]] = packed
        self.window[self.behind :].view(SESSIONS, MICRO_BATCHES, -1)[session, micro_batch] = rows.flatten().to(DEVICE)
        self.info[session, micro_batch] = torch.cat((torch.tensor([1, layer]), experts)).to(DEVICE)
        self.sent[session, micro_batch] = experts, tokens, scales

    def batch(self, need_schedule=0, rows=SESSIONS * TOKENS * EACH):
        shape = [rows // (TOKENS * EACH), TOKENS, EACH, FEATURES]
        results = torch.ops.npu.npu_ffn_worker_batching(
            self.context, 6, shape, token_dtype=TYPES.index(self.dtype), need_schedule=need_schedule, layer_num=0
        )
        return [result.cpu() for result in results]

    def check(self, results, arrived):
        """Copies expert by expert, and otherwise in the order of sessions, tokens and choices."""
        copies = [(expert, sent, i) for sent in arrived for i, expert in enumerate(self.sent[sent][0].tolist()) if expert != NONE]
        copies.sort(key=lambda copy: copy[0])
        y, groups, *places, scales, count = results
        assert count.tolist() == [len(copies)]
        assert torch.stack(places, 1)[: len(copies)].tolist() == [[*sent, i // EACH, i % EACH] for _, sent, i in copies]
        counted = [[expert, len(list(own))] for expert, own in itertools.groupby(expert for expert, *_ in copies)]
        assert groups.tolist() == counted + [[0, 0]] * (6 - len(counted))
        for row, (_, sent, i) in enumerate(copies):
            _, tokens, of_tokens = self.sent[sent]
            assert y[row].equal(tokens[i])
            assert self.dtype != torch.int8 or scales[row] == of_tokens[i]
        assert not y[len(copies) :].any()


@pytest.mark.parametrize("dtype", TYPES, ids=str)
@pytest.mark.parametrize("need_schedule", [0, 1])
def test_all_sessions_of_a_micro_batch(dtype, need_schedule):
    """Two micro batches, and the first one again: what is left of before is no token."""
    ffn = Ffn(dtype)
    for micro_batch in (0, 1, 0):
        for session in range(SESSIONS):
            ffn.arrive(session, micro_batch)
        if not need_schedule:
            afd.ffn_worker_scheduler_(ffn.context, sync_group_size=SESSIONS)
        ffn.check(ffn.batch(need_schedule), [(session, micro_batch) for session in range(SESSIONS)])
        assert (ffn.info[:, micro_batch, 0] == 0).all() and (ffn.info[:, micro_batch, 2:] == NONE).all()


def test_one_session_does_not_wait_for_others():
    ffn = Ffn()
    for session, micro_batch in ((1, 0), (2, 0), (1, 1)):
        ffn.arrive(session, micro_batch)
        before = ffn.context.clone()
        there = afd.ffn_worker_scheduler(ffn.context, sync_group_size=1)
        assert ffn.context.equal(before) and not there.equal(before)
        ffn.context.copy_(there)
        ffn.check(ffn.batch(), [(session, micro_batch)])


def test_a_worker_that_is_stopped_waits_no_longer():
    """torch_npu's queue is busy meanwhile, so that another thread writes the flag itself."""
    ffn = Ffn()
    ffn.arrive(0, 0)
    acl, flag, address = ctypes.CDLL("libascendcl.so"), ctypes.c_int32(0), ctypes.c_void_p(ffn.context.data_ptr() + 128)
    assert ffn.context[128:132].view(torch.int32).tolist() == [1]

    def stop():
        acl.aclrtSetDevice(0)
        assert acl.aclrtMemcpy(address, ctypes.c_size_t(4), ctypes.byref(flag), ctypes.c_size_t(4), 1) == 0

    timer = threading.Timer(0.3, stop)
    timer.start()
    began = time.monotonic()
    afd.ffn_worker_scheduler_(ffn.context, sync_group_size=SESSIONS)
    torch.npu.synchronize()
    assert time.monotonic() - began > 0.2
    timer.join()
    assert not any(result.any() for result in ffn.batch())


@pytest.mark.parametrize("dtype", TYPES[:2], ids=str)
@pytest.mark.parametrize("need_schedule", [0, 1])
def test_combine(dtype, need_schedule):
    size = 2 * FEATURES // 512 * 512 + 512
    behind = (4 * MICRO_BATCHES * TOKENS * EACH + 511) // 512 * 512
    window = torch.zeros(behind + MICRO_BATCHES * TOKENS * EACH * size, dtype=torch.int8).to(DEVICE)
    holder = afd.create_schedule_context_holder(
        schedule_mode=1, session_num=SESSIONS, micro_batch_num=MICRO_BATCHES, micro_batch_size=TOKENS, selected_expert_num=EACH,
        expert_num=6, attn_to_ffn_token_size=512, ffn_to_attn_token_size=size, attention_window=window.data_ptr(),
        attention_window_size=window.numel(),
    )  # fmt: skip
    context = holder.get_schedule_context_tensor()
    flags = window[: 4 * MICRO_BATCHES * TOKENS * EACH].view(torch.int32).view(MICRO_BATCHES, -1)
    for micro_batch in (0, 1, 0):
        results = torch.randn(TOKENS, EACH, FEATURES).to(dtype)
        tokens = window[behind:].view(dtype).view(MICRO_BATCHES, TOKENS, EACH, size // 2)
        tokens[micro_batch, ..., :FEATURES] = results.to(DEVICE)
        flags[micro_batch] = 1
        scales = torch.rand(TOKENS, EACH - 1)
        if not need_schedule:
            afd.attention_worker_scheduler_(context)
        y, layer = on_npu(
            torch.ops.npu.npu_attention_worker_combine, context, scales, torch.tensor([4], dtype=torch.int32), FEATURES,
            token_dtype=TYPES.index(dtype), need_schedule=need_schedule,
        )  # fmt: skip
        exact = (results[:, :-1].double() * scales.double().unsqueeze(2)).sum(1) + results[:, -1].double()
        close(y, exact, torch.finfo(dtype).eps, 1e-3)
        assert layer.tolist() == [5] and not flags.any()


@refused_at_once
def test_refusals():
    ffn = Ffn()
    refuses("scheduleContextRef: expected 1024 elements or more", "aclnnInplaceFfnWorkerScheduler", ffn.context[:1000], 1, 0)
    with pytest.raises(RuntimeError, match="syncGroupSize: expected a divisor of the 3 sessions, got 2"):
        afd.ffn_worker_scheduler_(ffn.context, sync_group_size=2)
        torch.npu.synchronize()
    ffn.arrive(0, 0)
    ffn.context[384:392] = 0  # token_info_buf
    with pytest.raises(RuntimeError, match="token_info_buf: expected device memory of 84 times 4 bytes, got 0 bytes"):
        afd.ffn_worker_scheduler_(ffn.context, sync_group_size=1)
        torch.npu.synchronize()
