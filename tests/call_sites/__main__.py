"""Compare the calls of entry points in a checkout of op-plugin with the prototypes of the engine.

python -m tests.call_sites CHECKOUT

Exit code 1 if a difference is not in accepted.tsv, a row of it differs no more, or a row of same.tsv is of no use.
"""

import argparse
import sys
from pathlib import Path

from .compare import differences, read_list
from .compare_outputs import output_differences
from .engine import prototypes
from .sites import calls
from .statements import statements
from .terms import read_rules, written

ACCEPTED = Path(__file__).with_name("accepted.tsv")
SAME = Path(__file__).with_name("same.tsv")


def main() -> int:
    parser = argparse.ArgumentParser("python -m tests.call_sites", None, __doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", type=Path, help="directory of a checkout of op-plugin")
    checkout = parser.parse_args().checkout
    if not (checkout / "op_plugin" / "ops" / "opapi").is_dir():
        raise SystemExit(f"{checkout}: expected a checkout of op-plugin, which has a directory op_plugin/ops/opapi/")
    engine, accepted = prototypes(), read_list(ACCEPTED)
    parsed = list(calls(checkout))
    compared = [call for call in parsed if call.entry_point in engine]
    arguments = [argument for call in compared for argument in call.arguments]
    rules = read_rules(SAME)
    counts, of_outputs = output_differences(compared, engine, statements(), rules)
    found = differences(compared, engine) | of_outputs
    print(
        f"calls: {len(parsed)}, of the engine's entry points: {len(compared)}, entry points: {len({call.entry_point for call in compared})}"
    )
    print(f"arguments: {len(arguments)}, of a kind that is plain: {sum(argument.kind is not None for argument in arguments)}")
    for what, kinds in (("size", ("equal", "different", "unread", "not stated")), ("type", ("equal", "different", "unread", "not stated"))):
        print(f"outputs by {what}: " + ", ".join(f"{kind} {counts[f'{what} {kind}']}" for kind in kinds))
    print(f"differences: {len(found)}, accepted: {len(found.keys() & accepted.keys())}")
    for difference, places in found.items():
        if difference not in accepted:
            at = f"argument {difference.argument}: " if difference.argument else ""
            print(f"{difference.entry_point}: {at}{difference.call}, engine: {difference.engine} ({', '.join(places)})", file=sys.stderr)
    for difference in accepted.keys() - found.keys():
        print(f"{ACCEPTED.name}: {difference.entry_point}, argument {difference.argument}: differs no more", file=sys.stderr)
    unused = [rule for rule in rules if not rule.is_used]
    for rule in unused:
        print(f"{SAME.name}: {written(rule.pattern)} is in no text", file=sys.stderr)
    return 1 if unused or found.keys() ^ accepted.keys() else 0


if __name__ == "__main__":
    sys.exit(main())
