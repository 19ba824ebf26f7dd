"""The engine's ``npu-smi``: what programs ask of the tool of Ascend's driver, answered for the host engine's devices."""

import argparse
import sys

from torch_aclnn.command.installation import own_version
from torch_aclnn.command.npu_smi_layout import board, chip, mapping, memory, summary, topology, usages
from torch_aclnn.command.parser import Parser, quiet
from torch_aclnn.host.devices import Device, devices

_REPORTS = {"board": board, "memory": memory, "usages": usages}
_DESCRIPTION = """\
The host engine's npu-smi. It reports the devices that programs get from the host
engine of torch_aclnn, which are no NPUs: temperatures, clocks and power are not
there, and the memory that other processes use is not seen.
"""


def main() -> int:
    """Run the command with the process's arguments and return its exit code."""
    return quiet(_main)


def _version() -> str:
    """Return a version number that names the engine and that no driver has."""
    return f"{own_version()}+torch.aclnn.host.engine"


def _main() -> int:
    parser = _parser()
    arguments = parser.parse_args()
    if arguments.version:
        print(f"npu-smi version: {_version()}")
        return 0
    if arguments.command is None:
        parser.error("expected info or -v")
    try:
        print("\n".join(_info(arguments, devices())))
    except (OSError, RuntimeError) as error:
        print(f"npu-smi: {error}", file=sys.stderr)
        return 1
    return 0


def _info(arguments: argparse.Namespace, found: list[Device]) -> list[str]:
    if arguments.list:
        return topology(found)
    if arguments.map:
        return mapping(found)
    if arguments.type is None:
        return summary(found, _version())
    device = _device(arguments, found)
    if arguments.type == "board" and arguments.chip is not None:
        return chip(device, _version())
    return _REPORTS[arguments.type](device, _version())


def _device(arguments: argparse.Namespace, found: list[Device]) -> Device:
    parser: Parser = arguments.parser
    if arguments.chip not in (None, 0):
        parser.error(f"-c: expected 0, because each device has one chip, got {arguments.chip}")
    if arguments.id not in range(len(found)):
        parser.error(f"-i: expected a device in 0..{len(found) - 1}, got {'none' if arguments.id is None else arguments.id}")
    return found[arguments.id]


def _parser() -> Parser:
    parser = Parser(prog="npu-smi", description=_DESCRIPTION)
    parser.add_argument("-v", action="store_true", dest="version", help="print the version, which names the host engine")
    info = parser.add_commands().add_parser("info", help="report the devices", description=_DESCRIPTION)
    info.set_defaults(parser=info)
    what = info.add_mutually_exclusive_group()
    what.add_argument("-l", action="store_true", dest="list", help="list the devices")
    what.add_argument("-m", action="store_true", dest="map", help="list the chips of the devices")
    what.add_argument("-t", dest="type", choices=_REPORTS, help="report this of one device")
    info.add_argument("-i", type=int, dest="id", metavar="N", help="the device, for -t")
    info.add_argument("-c", type=int, dest="chip", metavar="N", help="its chip, which is 0, for -t")
    return parser
