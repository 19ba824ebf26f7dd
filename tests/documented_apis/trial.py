"""What becomes of the calls of each API and data type on the product that the engine presents: JSON, in a process of its own.

TORCH_NPU_FALLBACK_CPU_DISABLE makes an error of what torch_npu would compute on the CPU.
"""

import itertools
import json
import os
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, TextIO

import torch_aclnn  # noqa: F401
import torch
import torch_npu  # noqa: F401

from documented_apis.calls import Call, Maker, makers
from documented_apis.pages import read_pages
from support.vocabulary import RECORDS

SAMPLES = 3
# Outcomes, the best first. A documented pair has the worst outcome of its calls, one that is not documented the best.
RUNS, ON_CPU, REFUSED, FAILED = "runs", "CPU", "refused", "fails in torch_npu"
ORDER = (RUNS, ON_CPU, FAILED, REFUSED)
NUMBERS = {
    torch.float32: "FLOAT",
    torch.float64: "DOUBLE",
    torch.bfloat16: "BF16",
    **{
        getattr(torch, name.lower()): name
        for name in ("FLOAT16", "UINT8", "INT8", "INT16", "INT32", "INT64", "BOOL", "COMPLEX64", "COMPLEX128")
    },
}


def outcomes(made_by: list[Maker], dtype: torch.dtype, decisive: str) -> list[tuple[str, str]]:
    """Return what became of the first calls of each maker, up to one that is decisive."""
    torch.default_generator.manual_seed(20)
    found: list[tuple[str, str]] = []
    for maker in made_by:
        with suppress(Exception):  # some samples cannot be made of a data type
            tried = (became for call in maker(dtype) if (became := outcome(call)) is not None)
            for became in itertools.islice(tried, SAMPLES):
                found.append(became)
                if became[0] == decisive:
                    return found
    return found


def outcome(call: Call) -> tuple[str, str] | None:
    """Return what became of a call, and why it did not run; None for one that the CPU does not take."""
    try:
        call.on("npu")
        torch.npu.synchronize()
    except Exception as error:
        left = _left_on_the_stream()
        if not call.is_sound():
            return None
        text = f"{error}\n{left}"
        if "FALLBACK_CPU_DISABLE" in text:
            return ON_CPU, ""
        found = re.search(r"^(?:torch_aclnn: )?(acl\w+: .*)|(operator \w+ has no entry point)", text, re.MULTILINE)
        return (REFUSED, found[1] or found[2]) if found else (FAILED, str(error).splitlines()[0])
    return RUNS, ""


def _left_on_the_stream() -> str:
    try:
        torch.npu.synchronize()
    except RuntimeError as error:
        return str(error)
    return ""


def takers(dtype: str, trace: Iterable[str]) -> Iterator[str]:
    """Yield, of the entry points called since the last time, those that took the data type, with what the record says of it."""
    for line in trace:
        row = json.loads(line)
        if row["kind"] != "call" or row.get("phase") != 1:
            continue
        record = RECORDS.get(row["name"])
        for name, value in row["arguments"].items():
            tensors = value if isinstance(value, list) else [value]
            if any(isinstance(tensor, dict) and tensor.get("dtype") == dtype for tensor in tensors):
                pages = record.pages if record is not None else {name: "own"}
                page = pages.get(name) or next(iter(pages.values()), "")  # some pages have one list of types for all tensors
                yield f"{row['name']} {name}: {page}"
                break


def trials(checkout: Path, product: str, trace: TextIO) -> Iterator[dict[str, Any]]:
    known = makers()
    for api in read_pages(checkout):
        types = api.types.get(product, frozenset())
        if not types or api.name not in known:
            yield {"api": api.name, "types": len(types)}
            continue
        for dtype in NUMBERS:
            trace.seek(0, os.SEEK_END)
            found = outcomes(known[api.name], dtype, REFUSED if dtype in types else RUNS)
            if found:
                became, why = sorted(found, key=lambda each: ORDER.index(each[0]))[-1 if dtype in types else 0]
                taken = sorted(set(takers(NUMBERS[dtype], trace)))
                yield {"api": api.name, "type": str(dtype)[6:], "listed": dtype in types, "outcome": became, "why": why, "taken": taken}


if __name__ == "__main__":
    with Path(os.environ["TORCH_ACLNN_HOST_TRACE"]).open("a+") as trace:
        for row in trials(Path(sys.argv[1]), sys.argv[2], trace):
            print(json.dumps(row), flush=True)
