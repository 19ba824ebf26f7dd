"""``torch-aclnn trace``."""

import argparse
import json
from pathlib import Path
from typing import Any

from torch_aclnn.command.parser import Parser
from torch_aclnn.command.trace import chrome, summary
from torch_aclnn.command.trace.records import Record, TraceError, read

_DESCRIPTION = """\
Sum up traces that programs wrote with TORCH_ACLNN_HOST_TRACE set: how often
each entry point was called, how long its calls and its tasks took together,
and its share of the whole. Several files are summed up together.

examples:
  torch-aclnn trace t.jsonl    of TORCH_ACLNN_HOST_TRACE=t.jsonl python train.py
  torch-aclnn trace t.jsonl --chrome t.json    for https://ui.perfetto.dev
"""


def add_parser(commands: Any) -> None:
    """Add the command to those of ``torch-aclnn``."""
    parser = commands.add_parser("trace", help="sum up what TORCH_ACLNN_HOST_TRACE wrote, or draw it", description=_DESCRIPTION)
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help="a trace")
    parser.add_argument("--json", action="store_true", help="print a JSON object instead")
    parser.add_argument("--chrome", type=Path, metavar="OUT", help="write the trace in Chrome's format too")
    parser.set_defaults(action=_run, parser=parser)


def _run(arguments: argparse.Namespace) -> int:
    parser: Parser = arguments.parser
    try:
        records: list[Record] = [record for path in arguments.files for record in read(path)]
    except TraceError as error:
        parser.error(str(error))
    except OSError as error:
        parser.error(f"{error.filename}: {error.strerror}")
    if arguments.chrome is not None:
        _write_chrome(parser, arguments.chrome, records)
    found = summary.by_entry_point(records)
    print(json.dumps(summary.as_json(found), indent=2) if arguments.json else "\n".join(summary.as_table(found)))
    return 0


def _write_chrome(parser: Parser, path: Path, records: list[Record]) -> None:
    try:
        with path.open("w") as file:
            json.dump({"traceEvents": chrome.events(records), "displayTimeUnit": "ms"}, file)
    except OSError as error:
        parser.error(f"--chrome: cannot write to {path}: {error.strerror}")
