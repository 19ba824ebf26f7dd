"""Making a call, and what the documents promise of it whatever its arguments are."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from arguments import BoolArray
from sound_calls import phase1, phase2
from torch_aclnn.host.codes import error_codes
from unrefused import may_be_left

from support.client import Client
from support.status import BEYOND_STORAGE, INVALID, NULL

from .call import Call
from .memory import Memory

DOCUMENTED = {code.number for code in error_codes()}
# Words of errors that come from within torch or C++'s library, where the engine has a message of its own to give.
FORBIDDEN = ("INTERNAL ASSERT", "report a bug", "vector::", "_M_range_check", "be improved", "std::", "basic_string", "bad_alloc", "0x55")
WHEN_LATE = DOCUMENTED - {500000, 561000, 561101}  # without the codes of failures of the engine itself


@dataclass(frozen=True)
class Outcome:
    """What became of a call, "early", "late" or "computed", with the message, and what is wrong with that."""

    what: str
    message: str = ""
    wrong: str = ""


class Caller:
    """Makes calls, one after the other."""

    def __init__(self, client: Client, begin: Callable[[Call], None]) -> None:
        self._client, self._memory, self._begin = client, Memory(client), begin

    def outcome(self, call: Call) -> Outcome:
        """Make the call; if it is computed, again with other bytes around its tensors and in its outputs."""
        self._begin(call)
        first = self._once(call, guard=0xA5, fill=0x5A)
        if first.what != "computed" or first.wrong or call.shares_memory:
            return first
        results = self._results()
        again = self._once(call, guard=0x3C, fill=0xC3)
        if again.what != "computed" or again.wrong:
            return Outcome("computed", wrong=f"the second time: {again}")
        return Outcome("computed", wrong=self._difference(call, results, self._results()))

    def _results(self) -> dict:
        return {place: self._memory.elements(place) for place in self._memory.written()}

    def _difference(self, call: Call, first: dict, second: dict) -> str:
        # Elements that neither run writes keep the bytes that the memory was filled with, which differ.
        masked = any(isinstance(value, BoolArray) and not all(value.values) for value in call.arguments.values())
        optional = {parameter.name for parameter in call.entry_point.parameters if parameter.nullable and masked}
        for place, elements in first.items():
            left = place.parameter in optional or may_be_left(call.entry_point.name, place.parameter)
            if elements != second[place] and not left:
                return f"{place} depends on what it was full of, or on other memory: {elements.hex()}, then {second[place].hex()}"
        return ""

    def _once(self, call: Call, guard: int, fill: int) -> Outcome:
        handles = self._memory.begin(call, guard, fill)
        code, executor, _ = phase1(call.entry_point, handles)
        if code != 0:
            what, message = "early", self._client.message()
            wrong = self._wrong_refusal(call, code, message) or ("an executor was given" if executor.value else "")
        else:
            code = phase2(call.entry_point, executor) or self._client.acl.aclrtSynchronizeStream(None)
            message = self._client.message() if code else ""
            wrong = self._wrong_failure(call, code, message) if code else ""
            what = "late" if code else "computed"
        self._memory.look()
        self._memory.end()
        if not wrong and (where := self._memory.changed(any_written=what != "early")):
            wrong = f"memory that is no output has changed: {where}"
        return Outcome(what, message, wrong)

    def _wrong_refusal(self, call: Call, code: int, message: str) -> str:
        if code not in (INVALID, NULL) and (code != BEYOND_STORAGE or "a view within its storage" not in message):
            return f"code {code} of phase 1: {message}"
        entry_point, _, rest = message.partition(": ")
        names, _, reason = rest.partition(": expected ")
        is_named = entry_point == call.entry_point.name and {re.sub(r"\[\d+\]$", "", n) for n in names.split(", ")} <= set(call.arguments)
        return "" if is_named and ", got " in reason and not self._forbidden(message) else f"message of phase 1: {message}"

    def _wrong_failure(self, call: Call, code: int, message: str) -> str:
        if code not in WHEN_LATE or not message.startswith(f"{call.entry_point}: ") or self._forbidden(message):
            return f"failed with {code}: {message}"
        return ""

    def _forbidden(self, message: str) -> bool:
        return any(words in message for words in FORBIDDEN)
