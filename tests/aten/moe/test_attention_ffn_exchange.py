"""attention_ffn_exchange.cpp against definitions in float64."""

import ctypes

import torch
from checks import DEVICE

from direct import fails, refuses
from support.communicator import one_rank


def test_windows_and_those_without_one():
    hccl, acl = ctypes.CDLL("libhccl.so"), ctypes.CDLL("libascendcl.so")
    acl.aclGetRecentErrMsg.restype = ctypes.c_char_p
    memory = torch.zeros(8192, dtype=torch.int8).to(DEVICE)
    address, handle, peers = ctypes.c_void_p(memory.data_ptr()), ctypes.c_void_p(), (ctypes.c_uint32 * 1)(0)

    def register(address=address, size=8192, flag=0):
        return hccl.HcclCommRegister(communicator, address, ctypes.c_uint64(size), ctypes.byref(handle), flag)

    def refused(code, words):
        return code == 1 and words in acl.aclGetRecentErrMsg().decode()

    ids = [torch.zeros(1, dtype=torch.int32).to(DEVICE) for _ in range(4)]
    count, x = torch.ones(1, dtype=torch.int64).to(DEVICE), torch.ones(1, 4).half().to(DEVICE)
    sent = [x, *ids, count, None, b"with windows", 1, [1, 1, 1], [1, 1, 1, 4]]
    with one_rank(b"with windows") as communicator:
        fails("group: expected a communicator with windows", "aclnnFFNToAttention", *sent, code=507022)
        assert refused(register(size=0), "size") and refused(register(flag=1), "flag")
        assert refused(register(size=1 << 40), "addr: expected 1099511627776 bytes of device memory")
        assert refused(register(address=ctypes.c_void_p(4096)), "addr: expected device memory")
        assert register() == 0 and refused(register(), "comm: expected a communicator without a window")
        assert refused(hccl.HcclCommExchangeMem(communicator, handle, peers, 1), "peerRanks[0]: expected another rank of 1, got 0")
        assert refused(hccl.HcclCommExchangeMem(communicator, address, peers, 1), "windowHandle: expected a window of the communicator")
        assert hccl.HcclCommExchangeMem(communicator, handle, peers, 0) == 0
    with one_rank(b"with windows") as communicator:
        assert register() == 0
        fails("sessionIds: expected ranks whose windows are open here, got 0", "aclnnFFNToAttention", *sent, code=507022)
        assert refused(hccl.HcclCommDeregister(communicator, address), "handle: expected a window of the communicator")
        assert hccl.HcclCommDeregister(communicator, handle) == 0 and register() == 0
    refuses("worldSize: expected 1, as the communicator has ranks, got 2", "aclnnFFNToAttention", *sent[:7], b"one rank", 2, *sent[9:])
    refuses("tokenDataShape", "aclnnFFNToAttention", *sent[:7], b"one rank", 1, [1, 1, 1], [1, 2, 1, 4])
