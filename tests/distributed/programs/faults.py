"""What goes wrong between ranks, by name: ``faults.py <address> <fault> [<timeout in seconds>]``."""

import sys

import torch_aclnn  # noqa: F401
import endings
import lost_ranks
import mismatches
from fault_reports import start

FAULTS = {
    "mismatches": mismatches.mismatches,
    "kinds": mismatches.kinds,
    "both receive": mismatches.both_receive,
    "unchecked": mismatches.unchecked,
    "never": lost_ranks.never,
    "killed": lost_ranks.killed,
    "killed in the middle": lost_ranks.killed_in_the_middle,
    "unattended": lost_ranks.unattended,
    "absent": lost_ranks.absent,
    "destroyed": lost_ranks.destroyed,
    "leftovers": endings.leftovers,
    "two groups": endings.two_groups,
    "made in another order": endings.made_in_another_order,
    "pending at exit": endings.pending_at_exit,
    "interrupted": endings.interrupted,
    "aborted": endings.aborted,
}

start(sys.argv[1], float(sys.argv[3]) if len(sys.argv) > 3 else None)
FAULTS[sys.argv[2]]()
