"""The arguments of ``torch-aclnn dryrun``: its own, and behind them those of the program."""

import argparse
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from torch_aclnn.command.dryrun.products import GIBIBYTE, MEBIBYTE, Known, hccl_buffers_of, total_of
from torch_aclnn.command.parser import PYTHONS, add_program, program_of, writable

PRODUCT = "Ascend910B3"

_DESCRIPTION = """\
Run the first steps of a training without computing, and tell whether it fits
into the memory of an NPU, what it calls, and what it sends to other ranks. The
program needs no change. It is ended after its steps, so that it writes no
checkpoint of values that nobody computed.
"""
_EPILOG = """\
The exit code is 0 if it fits, 1 if not, 2 for an error of use, 3 if an operator
is refused or missing, 4 if sizes may have depended on values, 5 if the run
ended before its steps.

examples:
  torch-aclnn dryrun train.py --batch-size 8
  torch-aclnn dryrun --rank 0 --world-size 8 --json 8.json train.py
  torch-aclnn dryrun --compare 8.json 16.json
"""
_UNITS = {"K": 1024, "M": MEBIBYTE, "G": GIBIBYTE}


def add_parser(commands: Any, action: Callable[[argparse.Namespace], int]) -> None:
    """Add the command to those of ``torch-aclnn``."""
    help = "tell whether a training fits on an NPU, and what it calls"
    parser = add_program(commands, "dryrun", PYTHONS, help=help, description=_DESCRIPTION, epilog=_EPILOG)
    product = os.environ.get("TORCH_ACLNN_HOST_SOC") or PRODUCT
    parser.add_argument("--product", default=product, metavar="CHIP", help=f"the chip; TORCH_ACLNN_HOST_SOC or {PRODUCT} if not given")
    parser.add_argument("--memory", type=_bytes, metavar="SIZE", help="its memory as torch_npu reports it, as 60.9G")
    parser.add_argument("--steps", type=_steps, default=2, metavar="N", help="how many steps of the training, 2 if not given")
    parser.add_argument("--rank", type=int, metavar="R", help="run as this rank")
    parser.add_argument("--world-size", type=int, metavar="N", help="of so many, of which there is no other process")
    parser.add_argument("--json", type=writable, metavar="FILE", help="write the report as JSON too")
    parser.add_argument("--snapshot", type=writable, metavar="FILE", help="write torch's snapshot for pytorch.org/memory_viz")
    parser.add_argument("--compare", nargs=2, type=Path, metavar="FILE", help="run nothing; compare two reports")
    parser.set_defaults(action=action)


def check(arguments: argparse.Namespace) -> None:
    """Refuse arguments that do not go together, and add ``total``, the chip's memory, and ``hccl_buffers``."""
    error = arguments.parser.error
    if arguments.compare:
        if arguments.program:
            error(f"--compare: expected two reports and nothing else, got {arguments.program[0]} too")
        return
    program_of(arguments)
    rank, size = arguments.rank, arguments.world_size
    if (rank is None) != (size is None):
        error("--rank and --world-size: expected both or neither")
    if size is not None and not 0 <= rank < size:
        error(f"--rank: expected 0 to {size - 1} with --world-size {size}, got {rank}")
    arguments.total = total_of(arguments.product) if arguments.memory is None else Known(arguments.memory, "--memory")
    if arguments.total is None:
        published = "Ascend910B1, Ascend910B2, Ascend910B2C, Ascend910B3 or Ascend910_93.., whose memory is published"
        error(f"--product: without --memory expected {published}, got {arguments.product}")
    try:
        arguments.hccl_buffers = hccl_buffers_of(os.environ.get("HCCL_BUFFSIZE"))
    except ValueError as problem:
        error(str(problem))


def _steps(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"expected a number from 1 on, got {text}")
    return int(text)


def _bytes(text: str) -> int:
    number, unit = (text[:-1], _UNITS[text[-1].upper()]) if text[-1:].upper() in _UNITS else (text, 1)
    try:
        if (size := round(float(number) * unit)) > 0:
            return size
    except (ValueError, OverflowError):
        pass
    raise argparse.ArgumentTypeError(f"expected a size such as 60.9G or 32768M, got {text!r}")
