"""The process that makes the calls, and may end at any of them: ``python -m hostile_calls.child <seed> <first> <end> <last> <found>``.

It writes each call's number into one file before it makes it, and into the other a line of JSON for each call that breaks the contract, and
the counts in the end. The seed "each" names the generated calls.
"""

import faulthandler
import json
import mmap
import resource
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import torch_aclnn  # noqa: F401  (its libraries)
from arguments import COMMUNICATOR
from torch_aclnn.loading.paths import libdir

from support.client import Client
from support.communicator import one_rank

from .call import Call
from .contract import Caller, Outcome
from .drawn import Draw
from .generated import calls, is_late
from .supervise import NUMBER_SIZE, TEXT_SIZE

RETRIES = 4  # further tries, with the shape that phase 1 asks for


def drawn(caller: Caller, seed: int, number: int) -> tuple[Call, list[Outcome]]:
    """Make a drawn call, again with shapes that phase 1 asks for; return it as it was made last, and the outcome of each time."""
    draw = Draw(seed, number)
    call = draw.call()
    outcomes = [caller.outcome(call)]
    while len(outcomes) <= RETRIES and not outcomes[-1].wrong and draw.fitted(call, outcomes[-1].message):
        outcomes.append(caller.outcome(call))
    return call, outcomes


def generated(caller: Caller, call: Call) -> tuple[Call, list[Outcome]]:
    outcome = caller.outcome(call)
    if outcome.what == "late" and not outcome.wrong and is_late(call, outcome.message):
        outcome = replace(outcome, wrong=f"phase 1 takes what fails: {outcome.message}")
    return call, [outcome]


def by_number(caller: Caller, seed: str) -> Callable[[int], tuple[Call, list[Outcome]] | None]:
    if seed != "each":
        return lambda number: drawn(caller, int(seed), number)
    all_calls = calls()
    return lambda number: generated(caller, all_calls[number]) if number < len(all_calls) else None


def main(seed: str, first: int, end: int, last_call: Path, found: Path) -> None:
    """Make the calls of these numbers."""
    faulthandler.enable()
    resource.setrlimit(resource.RLIMIT_DATA, (4 << 30, 4 << 30))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    client = Client(libdir())
    client.acl.ok("aclrtSetDevice", 0)
    made: Counter[str] = Counter()
    with (
        last_call.open("r+b") as opened,
        mmap.mmap(opened.fileno(), NUMBER_SIZE + TEXT_SIZE) as last,
        found.open("w") as lines,
        one_rank(COMMUNICATOR),
    ):

        def begin(call: Call) -> None:
            last[NUMBER_SIZE:] = str(call).encode()[:TEXT_SIZE].ljust(TEXT_SIZE, b"\0")

        make = by_number(Caller(client, begin), seed)
        for number in range(first, end):
            last[:NUMBER_SIZE] = number.to_bytes(NUMBER_SIZE, "little")
            made_call = make(number)
            if made_call is None:  # there are no more calls
                break
            call, outcomes = made_call
            made.update(outcome.what for outcome in outcomes)
            made[f"computed {call.entry_point}"] += outcomes[-1].what == "computed"
            if outcomes[-1].wrong:
                print(json.dumps([number, str(call.entry_point), outcomes[-1].wrong, str(call)]), file=lines, flush=True)
        last[:NUMBER_SIZE] = end.to_bytes(NUMBER_SIZE, "little")
        print(json.dumps(made), file=lines)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4]), Path(sys.argv[5]))
