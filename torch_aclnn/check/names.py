"""Keeps the names of the user and of the host out of a report, which is sent to others."""

import getpass
import re
import socket
from pathlib import Path
from typing import Any


def without_names(value: Any) -> Any:
    """Return a JSON value whose texts, keys included, have ~ for the home directory and neither the user's nor the host's name."""
    if isinstance(value, dict):
        return {without_names(key): without_names(item) for key, item in value.items()}
    if isinstance(value, list):
        return [without_names(item) for item in value]
    return _in_text(value) if isinstance(value, str) else value


def _in_text(text: str) -> str:
    home = str(Path.home())
    if home != "/":
        text = re.sub(rf"(?<![\w.~-]){re.escape(home)}(?![\w.-])", "~", text)
    for name, replacement in ((_user(), "USER"), (socket.gethostname(), "HOST")):
        if name:  # as a part of a path, or before the number of a port
            text = re.sub(rf"(?<=/){re.escape(name)}(?![\w.-])|(?<![\w.-]){re.escape(name)}(?=\]?:\d\d)", replacement, text)
    return text


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a user without a name, as in some containers
        return ""
