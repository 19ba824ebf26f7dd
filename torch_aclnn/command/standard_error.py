"""The standard error of a program, passed on as it comes and read along the way."""

import fcntl
import os
import pty
import re
import select
import sys
import termios
import threading
from collections.abc import Callable
from types import TracebackType

_OURS = 2
_CHUNK = 65536
_LINE_END = re.compile(b"[\r\n]")
_WINDOW_SIZE = bytes(8)  # struct winsize: four short integers


class StandardError:
    """Passes on what a program writes on standard error, and calls a function with each line.

    If ours is a terminal, the program's is one too, so that progress bars and colours stay. At the end what is there is read; what
    processes write that outlive the program is lost.

    Attributes:
        descriptor: the file descriptor for the program.

    """

    def __init__(self, take: Callable[[str], None]) -> None:
        self._take = take
        self._terminal = os.isatty(_OURS)
        self._source, self.descriptor = pty.openpty() if self._terminal else os.pipe()
        self._stopped, self._stop = os.pipe()
        self._thread = threading.Thread(target=self._pass_on, daemon=True)
        self._unfinished = b""

    def __enter__(self) -> "StandardError":
        sys.stderr.flush()
        if self._terminal:
            _copy_settings(_OURS, self.descriptor)
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        os.write(self._stop, b".")
        self._thread.join()
        for descriptor in (self._source, self.descriptor, self._stopped, self._stop):
            os.close(descriptor)
        self._take(self._unfinished.decode(errors="replace"))

    def _pass_on(self) -> None:
        stopped = False
        while True:
            # Once the program has ended, only what is there already.
            ready, _, _ = select.select([self._source, self._stopped][: 1 if stopped else 2], [], [], 0 if stopped else None)
            if self._source in ready:
                data = os.read(self._source, _CHUNK)
                _write(_OURS, data)
                *lines, self._unfinished = _LINE_END.split(self._unfinished + data)
                for line in lines:
                    self._take(line.decode(errors="replace"))
            elif stopped:
                return
            else:
                stopped = True


def _write(descriptor: int, data: bytes) -> None:
    try:
        while data:
            data = data[os.write(descriptor, data) :]
    except OSError:  # nobody reads it any more; the program goes on
        pass


def _copy_settings(terminal: int, copy: int) -> None:
    settings = termios.tcgetattr(terminal)
    settings[1] &= ~termios.OPOST  # what is written passes through the real terminal too
    termios.tcsetattr(copy, termios.TCSANOW, settings)
    fcntl.ioctl(copy, termios.TIOCSWINSZ, fcntl.ioctl(terminal, termios.TIOCGWINSZ, _WINDOW_SIZE))
