"""The thread's error text and code."""

import threading


def test_message_is_cleared_by_reading(ascendcl):
    assert ascendcl.aclrtSetDevice(-1) == 107001
    assert ascendcl.message().startswith("aclrtSetDevice: ")
    assert ascendcl.message() == ""


def test_message_belongs_to_its_thread(ascendcl):
    seen = []

    def fail_elsewhere():
        ascendcl.aclrtSetDevice(-1)
        seen.append(ascendcl.message())

    thread = threading.Thread(target=fail_elsewhere)
    thread.start()
    thread.join()
    assert "-1" in seen[0]
    assert ascendcl.message() == ""


def test_peek_keeps_the_code_and_get_takes_it(ascendcl):
    assert ascendcl.aclrtSetDevice(-1) == 107001
    assert [ascendcl.aclrtPeekAtLastError(0) for _ in range(2)] == [107001, 107001]
    assert [ascendcl.aclrtGetLastError(0) for _ in range(2)] == [107001, 0]


def test_refusal_of_an_operator_leaves_no_runtime_error(ascendcl, tasks):
    assert ascendcl.aclrtSetDevice(-1) == 107001
    assert tasks.refuse_operator() == 161002
    assert ascendcl.aclrtPeekAtLastError(0) == 0
    assert ascendcl.message() == "aclnnX: self: expected a value, got none"


def test_what_carries_no_code_of_its_own_is_answered_too(ascendcl, tasks):
    assert tasks.throw_what_is_no_exception() == 500000
    assert ascendcl.message() == "aclnnX: unknown exception"
    assert tasks.run_out_of_memory() == 200000
    assert ascendcl.message() == "aclnnX: out of host memory"


def test_long_message_is_cut_and_not_overrun(ascendcl):
    ascendcl.ok("aclrtSetDevice", 0)
    ascendcl.ok("aclopCompileAndExecute", b"x" * 10000, *[0] * 9, None, None)
    assert ascendcl.aclrtSynchronizeStream(None) == 200001
    message = ascendcl.message()
    assert "operator " + "x" * 100 in message and len(message) < 10000
