"""The arguments of ``torch-aclnn dryrun``: its own, and behind them those of the program."""

import argparse
import contextlib
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from torch_aclnn.command.dryrun.placeholders import placeholder
from torch_aclnn.command.dryrun.products import GIBIBYTE, MEBIBYTE, Known, hccl_buffers_of
from torch_aclnn.command.dryrun.programs import runnable
from torch_aclnn.command.parser import PYTHONS, add_program, program_of, writable
from torch_aclnn.timing.chip import ChipError, find, find_with_rates

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
  torch-aclnn dryrun --card 910B4 accelerate launch --num_processes 8 train.py
  torch-aclnn dryrun --fit batch=1:64 -- train.py --batch {batch}
  torch-aclnn dryrun --rank 0 --world-size 8 --json 8.json train.py
  torch-aclnn dryrun --ranks all --world-size 8 -- train.py
  torch-aclnn dryrun --compare 8.json 16.json
"""
_UNITS = {"K": 1024, "M": MEBIBYTE, "G": GIBIBYTE, "T": 1024 * GIBIBYTE}
_LEAST = GIBIBYTE
_DECIMAL = {"KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}


def add_parser(commands: Any, action: Callable[[argparse.Namespace], int]) -> None:
    """Add the command to those of ``torch-aclnn``."""
    help = "tell whether a training fits on an NPU, and what it calls"
    parser = add_program(commands, "dryrun", PYTHONS, help=help, description=_DESCRIPTION, epilog=_EPILOG)
    product = os.environ.get("TORCH_ACLNN_HOST_SOC") or PRODUCT
    card = "its name, as 910B4, A3 or Ascend910B3, or a file that describes one; TORCH_ACLNN_HOST_SOC or 910B3 if not given"
    parser.add_argument("--card", default=product, metavar="NAME", help=card)
    parser.add_argument("--memory", type=_bytes, metavar="SIZE", help="its memory as torch_npu reports it, as 60.9G")
    parser.add_argument("--steps", type=_steps, default=2, metavar="N", help="how many steps of the training, 2 if not given")
    parser.add_argument("--rank", type=int, metavar="R", help="run as this rank")
    parser.add_argument("--ranks", metavar="R", help="run as these ranks one after the other, as 0,1,7, or as all; equal ones run once")
    parser.add_argument("--world-size", type=int, metavar="N", help="of so many, of which there is no other process")
    fit = "find the largest value with which it fits, of {NAME} in the program's arguments: batch=1:64; a second one, as length=1024,2048"
    parser.add_argument("--fit", type=placeholder, action="append", metavar="NAME=LOW:HIGH", help=fit)
    parser.add_argument("--time", action="store_true", help="estimate how long a step takes, as a range")
    parser.add_argument("--timeline", type=writable, metavar="FILE", help="the same, and draw each rank run for https://ui.perfetto.dev")
    parser.add_argument("--expert-load", type=_load, metavar="X", help="times its even share for the first half of the experts, 0 to 2")
    parser.add_argument("--json", type=writable, metavar="FILE", help="write the report as JSON too")
    parser.add_argument("--snapshot", type=writable, metavar="FILE", help="write torch's snapshot for pytorch.org/memory_viz")
    parser.add_argument("--compare", nargs=2, type=Path, metavar="FILE", help="run nothing; compare two reports")
    parser.set_defaults(action=action)


def check(arguments: argparse.Namespace) -> None:
    """Refuse arguments that do not go together, and add what follows: ``runs``, ``total``, ``hccl_buffers``."""
    error = arguments.parser.error
    if arguments.compare:
        if arguments.program:
            error(f"--compare: expected two reports and nothing else, got {arguments.program[0]} too")
        return
    if arguments.program[:1] == ["--"]:
        del arguments.program[0]
    arguments.runs = runnable(program_of(arguments), error)
    rank, size = arguments.rank, arguments.world_size
    if arguments.ranks is not None:
        _check_ranks(arguments)
    elif (rank is None) != (size is None) and (rank is None or arguments.program[0].endswith(".py")):
        error("--rank and --world-size: expected both or neither, and --rank alone with a launcher such as torchrun")
    elif size is not None and not 0 <= rank < size:
        error(f"--rank: expected 0 to {size - 1} with --world-size {size}, got {rank}")
    _check_fit(arguments)
    _find_card(arguments)
    arguments.time = arguments.time or arguments.timeline is not None
    if arguments.time:
        _check_time(arguments)
    try:
        arguments.hccl_buffers = hccl_buffers_of(os.environ.get("HCCL_BUFFSIZE"))
    except ValueError as problem:
        error(str(problem))


def _check_ranks(arguments: argparse.Namespace) -> None:
    """Convert the ranks to numbers, and refuse what is none."""
    text, size, error = arguments.ranks, arguments.world_size, arguments.parser.error
    if size is None or not (arguments.rank is arguments.snapshot is arguments.fit is None):
        error("--ranks: expected --world-size, and none of --rank, --fit and --snapshot")
    words = text.split(",")
    if text != "all" and not all(word.isdecimal() and int(word) < size for word in words):
        error(f"--ranks: expected all, or numbers from 0 to {size - 1} as in 0,1,7, got {text}")
    arguments.ranks = list(range(size)) if text == "all" else sorted({int(word) for word in words})
    arguments.rank = arguments.ranks[0]


def _check_fit(arguments: argparse.Namespace) -> None:
    given = arguments.fit or []
    if len(given) > 2:
        arguments.parser.error(f"--fit: expected one or two, got {len(given)}")
    for one in given:
        if not any(f"{{{one.name}}}" in word for word in arguments.runs):
            arguments.parser.error(f"--fit: expected {{{one.name}}} among the program's arguments")


def _find_card(arguments: argparse.Namespace) -> None:
    """Add ``product``, the SoC that the engine presents, and ``total``, the memory that torch_npu would report."""
    card, memory = arguments.card, arguments.memory
    arguments.product, known = card, None
    try:
        chip = find(card)
        arguments.product, known = chip.soc, Known(*chip.memory) if chip.memory else None
    except ChipError as problem:
        if memory is None or card.endswith(".json") or not card.startswith("Ascend"):
            arguments.parser.error(f"--card: {problem}; of another, its SoC's name and --memory, as --card Ascend310B1 --memory 8G")
    if memory is None and known is None:
        arguments.parser.error(f"--card: nobody has published the memory of {card}; expected --memory too, as --memory 29G")
    arguments.total = Known(memory, "--memory") if memory is not None else known


def _check_time(arguments: argparse.Namespace) -> None:
    """Add ``chip``, with the rates of the card."""
    if arguments.steps < 2:
        arguments.parser.error("--time: expected --steps from 2 on, as the first step makes the optimizer's state, got 1")
    if arguments.fit:
        arguments.parser.error("--time: expected one program, without --fit")
    try:
        arguments.chip = find_with_rates(arguments.card)
    except ChipError as problem:
        arguments.parser.error(f"--time: {problem}")


def _steps(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"expected a number from 1 on, got {text}")
    return int(text)


def _load(text: str) -> float:
    with contextlib.suppress(ValueError):
        if 0 <= (load := float(text)) <= 2:
            return load
    raise argparse.ArgumentTypeError(f"expected a number from 0 to 2, got {text}")


def _bytes(text: str) -> int:
    found = re.fullmatch(r"(\d+(?:\.\d*)?|\.\d+) *(?:([KMGT])(?:iB)?|([KMGT]B))", text, re.IGNORECASE)
    if found is None and re.fullmatch(r"\d+", text):
        raise argparse.ArgumentTypeError(f"expected a unit behind the number, as {text}G or {text}GiB, got {text}")
    if found is not None:
        unit = _UNITS[found[2].upper()] if found[2] else _DECIMAL[found[3].upper()]
        if (size := round(float(found[1]) * unit)) >= _LEAST:
            return size
    raise argparse.ArgumentTypeError(f"expected a size such as 60.9G, 32GiB or 32768M, and at least 1G, got {text!r}")
