"""Compare the calls of entry points in a checkout of op-plugin with the prototypes of the engine.

python -m tests.call_sites CHECKOUT

Exit code 1 if a difference is not in accepted.tsv, or a row of it differs no more.
"""

import argparse
import sys
from pathlib import Path

from .compare import differences, read_list
from .engine import prototypes
from .sites import calls

ACCEPTED = Path(__file__).with_name("accepted.tsv")


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
    found = differences(compared, engine)
    print(
        f"calls: {len(parsed)}, of the engine's entry points: {len(compared)}, entry points: {len({call.entry_point for call in compared})}"
    )
    print(f"arguments: {len(arguments)}, of a kind that is plain: {sum(argument.kind is not None for argument in arguments)}")
    print(f"differences: {len(found)}, accepted: {len(found.keys() & accepted.keys())}")
    for difference, places in found.items():
        if difference not in accepted:
            at = f"argument {difference.argument}: " if difference.argument else ""
            print(f"{difference.entry_point}: {at}{difference.call}, engine: {difference.engine} ({', '.join(places)})", file=sys.stderr)
    for difference in accepted.keys() - found.keys():
        print(f"{ACCEPTED.name}: {difference.entry_point}, argument {difference.argument}: differs no more", file=sys.stderr)
    return 1 if found.keys() ^ accepted.keys() else 0


if __name__ == "__main__":
    sys.exit(main())
