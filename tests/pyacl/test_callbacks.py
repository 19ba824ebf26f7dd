"""Callbacks of streams on threads of the program."""

import threading
from ctypes import byref, c_void_p

from torch_aclnn.loading.paths import libdir, python_packages

from support.runtime import Runtime
from support.subprocesses import run_python


def test_a_thread_runs_the_callbacks_of_a_stream(acl, stream):
    """The samples of asynchronous inference do so; callbacks that block are over when the stream is."""
    context, _ = acl.rt.get_context()
    ran, leave = [], threading.Event()

    def work(arguments: list) -> None:
        assert acl.rt.set_context(arguments[0]) == 0
        while not leave.is_set():
            acl.rt.process_report(arguments[1])

    thread, ret = acl.util.start_thread(work, [context, 50])
    assert ret == 0 and acl.rt.subscribe_report(thread, stream) == 0
    assert acl.rt.subscribe_report(thread, stream) == acl.ACL_ERROR_RT_STREAM_SUBSCRIBE
    for number in range(6):
        assert acl.rt.launch_callback(lambda data: ran.append((*data, threading.get_ident())), [number], number % 2, stream) == 0
    assert acl.rt.synchronize_stream(stream) == 0
    assert ran == [(number, thread) for number in range(6)]
    assert acl.rt.unsubscribe_report(thread, stream) == 0
    leave.set()
    assert acl.util.stop_thread(thread) == 0 and acl.util.stop_thread(thread) == acl.ACL_ERROR_INVALID_PARAM
    assert acl.rt.launch_callback(print, [], 1, stream) == acl.ACL_ERROR_RT_STREAM_NO_CB_REG
    assert acl.rt._callbacks == {}


def test_the_thread_that_launches_a_callback_can_run_it(acl, stream):
    ran: list[int] = []
    this_thread = threading.get_ident()
    assert acl.rt.subscribe_report(this_thread, stream) == 0
    assert acl.rt.launch_callback(ran.append, 1, acl.ACL_CALLBACK_BLOCK, stream) == 0
    assert acl.rt.process_report(5000) == 0 and ran == [1]
    assert acl.rt.synchronize_stream(stream) == acl.rt.unsubscribe_report(this_thread, stream) == 0
    assert acl.rt.process_report(-1) == acl.ACL_ERROR_RT_THREAD_SUBSCRIBE
    assert acl.rt.process_report(0) == acl.ACL_ERROR_RT_PARAM_INVALID


def test_a_graph_calls_back_at_each_replay(acl, stream):
    runtime, graph, ran = Runtime(str(libdir() / "libascendcl.so")), c_void_p(), []
    this_thread = threading.get_ident()
    assert acl.rt.subscribe_report(this_thread, stream) == 0
    runtime.ok("aclmdlRICaptureBegin", stream, 0)
    assert acl.rt.launch_callback(ran.append, 1, acl.ACL_CALLBACK_BLOCK, stream) == 0
    runtime.ok("aclmdlRICaptureEnd", stream, byref(graph))
    for _ in range(2):
        runtime.ok("aclmdlRIExecuteAsync", graph, stream)
        assert acl.rt.process_report(5000) == 0
    assert acl.rt.synchronize_stream(stream) == 0 and ran == [1, 1]
    runtime.ok("aclmdlRIDestroy", graph)
    assert acl.rt.unsubscribe_report(this_thread, stream) == 0


def test_a_program_ends_while_a_daemon_thread_calls_back():
    """Python ends such a thread by pthread_exit, which goes through the function that called back."""
    code = (
        f"import sys; sys.path.insert(0, {str(python_packages())!r})\n"
        + """
import acl, threading, time
acl.init(), acl.rt.set_device(0)
stream, _ = acl.rt.create_stream()
thread = threading.Thread(target=lambda: [acl.rt.process_report(100) for _ in iter(int, 1)], daemon=True)
thread.start()
acl.rt.subscribe_report(thread.ident, stream)
for i in range(50):
    acl.rt.launch_callback(lambda data: time.sleep(0.01), [i], 0, stream)
"""
    )
    done = run_python(code, TORCH_DEVICE_BACKEND_AUTOLOAD="0")
    assert done.returncode == 0, done.stderr
