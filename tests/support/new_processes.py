"""Running Python in a new process instead of a copy of one that has imported torch, for tests of imports."""

import functools

from support import subprocesses
from support.subprocesses import COMMAND as COMMAND

output_of = functools.partial(subprocesses.output_of, new=True)
run_python = functools.partial(subprocesses.run_python, new=True)
