"""Write docs/error_codes.md, every code that the engine returns, from the engine's own table.

python docs/generate_error_codes.py
"""

from pathlib import Path

import torch_aclnn  # noqa: F401  # loads the engine's libraries
from torch_aclnn.host.codes import ErrorCode, error_codes

OUTPUT = Path(__file__).resolve().parent / "error_codes.md"

HEADER = """# Error codes

Written by `docs/generate_error_codes.py` from the engine's own table (`torchAclnnHostErrorCodes()`); do not edit.

Every function of the engine that returns a code returns 0 or one of these. They are codes of the published interface, under their
published names. The message that goes with a code is that of `aclGetRecentErrMsg`: it names the function, the parameter, what was
expected and what came, and torch_npu puts it into the exception.

What fails on the device, after the call that launched it has returned, surfaces at the next synchronisation, under the name of the
operator that failed. With [fault injection](finding_errors.md#fault-injection) any function can return any of the codes.
"""

SECTIONS = {
    "runtime": "The runtime (`aclError`)",
    "operators": "Operators (`aclnnStatus`)",
    "collectives": "Collectives (`HcclResult`)",
}


def section(layer: str, codes: list[ErrorCode]) -> list[str]:
    """Return the lines of the table of one layer."""
    lines = ["", f"## {SECTIONS[layer]}", "", "| code | name | when the engine returns it | where it surfaces |", "|---|---|---|---|"]
    return lines + [f"| {code.number} | `{code.name}` | {code.reason} | {code.surface} |" for code in codes if code.layer == layer]


def document() -> str:
    """Return the whole text of docs/error_codes.md."""
    codes = error_codes()
    return "\n".join([HEADER.rstrip("\n"), *(line for layer in SECTIONS for line in section(layer, codes))]) + "\n"


if __name__ == "__main__":
    OUTPUT.write_text(document())
