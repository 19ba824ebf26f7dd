"""The thread's error text and code."""

import threading


def test_message_is_cleared_by_reading(acl):
    assert acl.aclrtSetDevice(-1) == 107001
    assert acl.message().startswith("aclrtSetDevice: ")
    assert acl.message() == ""


def test_message_belongs_to_its_thread(acl):
    seen = []

    def fail_elsewhere():
        acl.aclrtSetDevice(-1)
        seen.append(acl.message())

    thread = threading.Thread(target=fail_elsewhere)
    thread.start()
    thread.join()
    assert "-1" in seen[0]
    assert acl.message() == ""


def test_peek_keeps_the_code_and_get_takes_it(acl):
    assert acl.aclrtSetDevice(-1) == 107001
    assert [acl.aclrtPeekAtLastError(0) for _ in range(2)] == [107001, 107001]
    assert [acl.aclrtGetLastError(0) for _ in range(2)] == [107001, 0]


def test_refusal_of_an_operator_leaves_no_runtime_error(acl, tasks):
    assert acl.aclrtSetDevice(-1) == 107001
    assert tasks.refuse_operator() == 161002
    assert acl.aclrtPeekAtLastError(0) == 0
    assert acl.message() == "aclnnX: self: expected a value, got none"


def test_what_carries_no_code_of_its_own_is_answered_too(acl, tasks):
    assert tasks.throw_what_is_no_exception() == 500000
    assert acl.message() == "aclnnX: unknown exception"
    assert tasks.run_out_of_memory() == 200000
    assert acl.message() == "aclnnX: out of host memory"


def test_long_message_is_cut_and_not_overrun(acl):
    acl.ok("aclrtSetDevice", 0)
    acl.ok("aclopCompileAndExecute", b"x" * 10000, *[0] * 9, None, None)
    assert acl.aclrtSynchronizeStream(None) == 200001
    message = acl.message()
    assert "operator " + "x" * 100 in message and len(message) < 10000
