"""The cause of a failure in one line, so that failures with one cause can be counted."""

import re

# They are tried in this order: what the engine says of an operator, what torch says it has no kernel for, a process that ended.
PATTERNS = (
    r"(operator \w+) has no entry point",
    r"((?:torch_aclnn: )?\baclnn\w+: .*)",
    r"(\S+\.so: cannot open shared object file)",
    r"(process ended: .*)",
    r"(the file took more than) .*",
)
LONGEST = 160


def cause(message: str) -> str:
    """Return the line that says why, without what differs from call to call: numbers, addresses, lists of numbers."""
    for pattern in PATTERNS:
        if found := re.search(pattern, message):
            return _normalised(found[0])
    return _normalised(_last_error(message))


def _last_error(message: str) -> str:
    """Return the line with the exception of a traceback: the last that begins with its name."""
    lines = [line for line in message.splitlines() if line.strip()]
    errors = [line for line in lines if re.match(r"[\w.]*(Error|Exception|Exit|Interrupt|Warning|NotFound)\b", line)]
    return (errors or lines or ["no message"])[-1]


def _normalised(line: str) -> str:
    line = re.sub(r"0x[0-9a-fA-F]+", "ADDRESS", line)
    line = re.sub(r"/[\w./-]+/", "", line)
    line = re.sub(r"(?<![A-Za-z_\d])-?\d+(\.\d+)?([eE][-+]?\d+)?%?", "N", line)
    line = re.sub(r"N(, ?N)+", "N...", line)
    line = re.sub(r"\s+", " ", line).strip()
    return line if len(line) <= LONGEST else line[: LONGEST - 3] + "..."
