"""A fork of a process that uses the devices, with what only a program in C can arrange."""

import subprocess
from pathlib import Path

from support.compiler import c_program


def test_child_does_not_wait_for_a_lock_of_exit_handlers_that_its_parent_held(tmp_path):
    program = c_program(Path(__file__).with_name("fork_at_exit_handler.c"), tmp_path / "fork_at_exit_handler")
    done = subprocess.run([program], capture_output=True, text=True, timeout=60)
    assert done.stdout == "exit status 7\n", done.stderr
