"""The arguments of ``torch-aclnn dryrun``: its own, and behind them those of the program."""

import argparse
import os
from pathlib import Path
from typing import Any

from torch_aclnn.command.dryrun.products import GIBIBYTE, MEBIBYTE, Known, hccl_buffers_of, total_of
from torch_aclnn.command.parser import Parser

NAME = "dryrun"
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


def add_parser(commands: Any) -> None:
    """Add the command to the list that the help shows; :func:`parse` takes its arguments."""
    commands.add_parser(NAME, help="tell whether a training fits on an NPU, and what it calls", add_help=False)


def parse(arguments: list[str]) -> argparse.Namespace:
    """Return what the arguments ask for; the program's begin at the first that is not an option of the command."""
    parser = _parser()
    own = _count_own(parser, arguments)
    parsed = parser.parse_args(arguments[:own], argparse.Namespace(command=NAME, program=arguments[own:]))
    if parsed.compare:
        if parsed.program:
            parser.error(f"--compare: expected two reports and nothing else, got {parsed.program[0]} too")
        return parsed
    if not parsed.program:
        parser.error("expected a script, -c or -m and its arguments")
    _check(parser, parsed)
    return parsed


def _parser() -> Parser:
    usage = f"torch-aclnn {NAME} [options] script.py [arguments]\n       torch-aclnn {NAME} [options] -m module [arguments]"
    parser = Parser(prog=f"torch-aclnn {NAME}", usage=usage, description=_DESCRIPTION, epilog=_EPILOG)
    product = os.environ.get("TORCH_ACLNN_HOST_SOC") or PRODUCT
    parser.add_argument("--product", default=product, metavar="CHIP", help=f"the chip; TORCH_ACLNN_HOST_SOC or {PRODUCT} if not given")
    parser.add_argument("--memory", metavar="SIZE", help="its memory as torch_npu reports it, as 60.9G")
    parser.add_argument("--steps", type=int, default=2, metavar="N", help="how many steps of the training, 2 if not given")
    parser.add_argument("--rank", type=int, metavar="R", help="run as this rank")
    parser.add_argument("--world-size", type=int, metavar="N", help="of so many, of which there is no other process")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the report as JSON too")
    parser.add_argument("--snapshot", type=Path, metavar="FILE", help="write torch's snapshot for pytorch.org/memory_viz")
    parser.add_argument("--compare", nargs=2, type=Path, metavar="FILE", help="run nothing; compare two reports")
    return parser


def _count_own(parser: Parser, arguments: list[str]) -> int:
    """Return how many of the arguments are the command's."""
    options = {option: action.nargs for action in parser._actions for option in action.option_strings}
    count = 0
    while count < len(arguments) and (name := arguments[count].split("=")[0]) in options:
        nargs = options[name]
        values = 0 if "=" in arguments[count] else nargs if isinstance(nargs, int) else 1
        count += 1 + values
    return min(count, len(arguments))


def _check(parser: Parser, parsed: argparse.Namespace) -> None:
    if parsed.steps < 1:
        parser.error(f"--steps: expected a number from 1 on, got {parsed.steps}")
    if (parsed.rank is None) != (parsed.world_size is None):
        parser.error("--rank and --world-size: expected both or neither")
    if parsed.world_size is not None and not 0 <= parsed.rank < parsed.world_size:
        parser.error(f"--rank: expected 0 to {parsed.world_size - 1} with --world-size {parsed.world_size}, got {parsed.rank}")
    for option in ("json", "snapshot"):
        path = getattr(parsed, option)
        if path is not None and not os.access(path.absolute().parent, os.W_OK):
            parser.error(f"--{option}: expected a file in a folder that can be written, got {path}")
    parsed.total = _total(parser, parsed)
    try:
        parsed.hccl_buffers = hccl_buffers_of(os.environ.get("HCCL_BUFFSIZE"))
    except ValueError as error:
        parser.error(str(error))


def _total(parser: Parser, parsed: argparse.Namespace) -> Known:
    if parsed.memory is not None:
        size = _bytes(parsed.memory)
        if size is None:
            parser.error(f"--memory: expected a size such as 60.9G or 32768M, got {parsed.memory!r}")
        return Known(size, "--memory")
    known = total_of(parsed.product)
    if known is None:
        published = "Ascend910B1, Ascend910B2, Ascend910B2C, Ascend910B3 or Ascend910_93.., whose memory is published"
        parser.error(f"--product: without --memory expected {published}, got {parsed.product}")
    return known


def _bytes(text: str) -> int | None:
    number, unit = (text[:-1], _UNITS[text[-1].upper()]) if text[-1:].upper() in _UNITS else (text, 1)
    try:
        size = round(float(number) * unit)
    except (ValueError, OverflowError):
        return None
    return size if size > 0 else None
