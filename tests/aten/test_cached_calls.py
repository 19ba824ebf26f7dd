"""A call that is made again computes with the tensors of the call at hand, generated from the list of entry points."""

import ctypes
from typing import Any

import pytest
from contents import HALF, ONE, contents, plain_outputs
from guarded import GUARDS, Guarded
from sound_calls import of_every_entry_point, phase1, phase2, sound_arguments

from support.client import Client


class KeyedCalls:
    """Calls of an entry point, under one key or without."""

    def __init__(self, client: Client, entry_point: Any) -> None:
        sound = sound_arguments(entry_point)
        self._client, self._entry_point, self._library = client, entry_point, client.opapi
        self._outputs = plain_outputs(entry_point, sound)
        self._arguments = sound
        self._key = entry_point.name.encode()

    def run(self, values: dict[int, bytes], *, keyed: bool, expected_in_cache: bool = False) -> dict[str, list[bytes]]:
        """Return the outputs' elements by name, of a call on new memory."""
        handles = Guarded(self._client, contents(self._arguments, self._outputs, values))
        arguments = handles.of_call(self._arguments | self._outputs).values()
        executor = self._begin_key(handles) if keyed else None
        assert bool(executor) == expected_in_cache
        code = 0
        if executor is None:
            code, executor, _ = phase1(self._entry_point, arguments)
        self._library.UnInitPTACacheThreadLocal()
        code = code or phase2(self._entry_point, executor) or self._client.acl.aclrtSynchronizeStream(None)
        assert code == 0, self._client.message()
        found = {name: handles.elements(tensor) for name, tensor in self._outputs.items()}
        handles.destroy()
        assert handles.is_whole()
        return found

    def _begin_key(self, handles: Guarded) -> ctypes.c_void_p | None:
        self._library.InitPTACacheThreadLocal()
        for _, block, _ in handles._blocks:
            self._library.AddTensorAddrToCachedList(block + GUARDS)
        self._library.SetPTACacheHashKey(self._key, len(self._key))
        found = self._library.PTAFindExecCache(self._key, len(self._key), ctypes.byref(ctypes.c_uint64()))
        return None if found is None else ctypes.c_void_p(found)


# There is no quantisation with half a zero point.
OF_ZERO_POINTS = ("aclnnFakeQuantPerChannelAffineCachemask",)


@pytest.mark.every  # in the default run tests/host/test_executor_cache.py covers this
@of_every_entry_point("Out", without=OF_ZERO_POINTS)
def test_a_call_made_again_has_the_tensors_of_the_call_at_hand(entry_point, client):
    calls = KeyedCalls(client, entry_point)
    waits_for_ranks = any(parameter.kind == "CommGroup" for parameter in entry_point.parameters)
    calls.run(ONE, keyed=True)
    again = calls.run(HALF, keyed=True, expected_in_cache=not waits_for_ranks)
    assert again == calls.run(HALF, keyed=False)
