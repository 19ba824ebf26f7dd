"""Call every entry point on ATen's kernels with hostile arguments, and print each call that breaks the contract.

python -m tests.aten.hostile_calls --seed 1 --calls 100000
python -m tests.aten.hostile_calls --seed 1 --only 31415          repeats one

Exit code 1 if there is one. The environment's settings of the engine apply.
"""

import argparse
import sys
import time

from .supervise import Calls

BATCH = 25_000  # calls of a process; what follows from an earlier call's state is one of them


def main() -> int:
    parser = argparse.ArgumentParser(
        "python -m tests.aten.hostile_calls", None, __doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seed", default="1", help='a number, or "each" for the generated calls (default: %(default)s)')
    parser.add_argument("--first", type=int, default=0, metavar="N", help="the number of the first call (default: %(default)s)")
    parser.add_argument("--calls", type=int, default=100_000, metavar="N", help="how many (default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=float("inf"), metavar="S", help="begin no more calls after that time")
    parser.add_argument("--only", type=int, metavar="N", help="the call of this number")
    chosen = parser.parse_args()
    first, end = (chosen.first, chosen.first + chosen.calls) if chosen.only is None else (chosen.only, chosen.only + 1)
    calls, begun = Calls(chosen.seed), time.monotonic()
    while first < end and time.monotonic() - begun < chosen.seconds:
        for finding in calls.run(first, min(first + BATCH, end)):
            print(f"{chosen.seed}:{finding.number}: {finding.entry_point}: {finding.wrong}\n    {finding.call}", flush=True)
        first += BATCH
    each = [count for name, count in calls.made.items() if name.startswith("computed ")]
    counts = ", ".join(f"{calls.made[what]} {text}" for what, text in
                       (("computed", "computed"), ("early", "refused in phase 1"), ("late", "failed as they were computed")))  # fmt: skip
    made = calls.made["computed"] + calls.made["early"] + calls.made["late"]
    print(f"{made} calls in {time.monotonic() - begun:.0f} s: {counts}, {len(calls.findings)} findings;"
          f" {sum(map(bool, each))} entry points of {len(each)} were computed")  # fmt: skip
    return int(bool(calls.findings))


if __name__ == "__main__":
    sys.exit(main())
