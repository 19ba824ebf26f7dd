"""Compare what entry points compute with their definitions, and print each call that differs and how many calls there were of each.

python -m tests.values --seed 1 --calls 100000
python -m tests.values --seed 1 --only aclnnGather --first 31415 --calls 1
"""

import argparse
import sys
import time
from collections import Counter
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[1]), str(Path(__file__).parents[1] / "aten")]


def main() -> int:
    parser = argparse.ArgumentParser("python -m tests.values", None, __doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", metavar="EXPRESSION", help="the entry points with such a name")
    parser.add_argument("--first", type=int, default=0, metavar="N", help="the number of the first drawing (default: %(default)s)")
    parser.add_argument("--calls", type=int, default=10_000, metavar="N", help="how many (default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=float("inf"), metavar="S", help="begin no more drawings after that time")
    parser.add_argument("--missing", action="store_true", help="say of which entry points there was no call, and why")
    chosen = parser.parse_args()
    import torch

    from values.run import Calls

    torch.set_num_threads(1)

    calls, begun, number, differing = Calls(chosen.seed, chosen.only), time.monotonic(), chosen.first, Counter[str]()
    while calls.made.total() < chosen.calls and time.monotonic() - begun < chosen.seconds:
        for name, text in calls.make(number):
            differing[name] += 1
            if differing[name] == 1:
                print(f"{chosen.seed}:{number}: {text}", flush=True)
        number += 1
    for name, count in differing.items():
        print(f"{name}: {count} of {calls.made[name]} calls differ")
    for entry_point in calls.entry_points if chosen.missing else ():
        if not calls.made[entry_point.name]:
            print(f"{entry_point}: no call, {calls.refused[entry_point.name].most_common(2)}")
    print(f"{calls.made.total()} calls of {len(calls.made)} entry points, up to {number}, in {time.monotonic() - begun:.0f} s")
    return int(bool(differing))


if __name__ == "__main__":
    sys.exit(main())
