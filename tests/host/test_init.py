"""The start, the end and the settings of the engine, each in a process of its own."""

import pytest


def test_init_and_finalize_are_answered_by_the_book(run_engine):
    ended = run_engine("calls = [acl.aclFinalize, lambda: acl.aclInit(None)]\nprint(*(calls[which]() for which in (0, 1, 1, 0, 0, 1, 0)))")
    assert ended.stdout.split() == ["100001", "0", "100002", "0", "100037", "0", "0"]


def test_engine_says_once_that_it_is_not_an_npu(run_engine):
    ended = run_engine("acl.aclInit(None); acl.aclFinalize(); acl.aclInit(None)", TORCH_ACLNN_HOST_SOC="Ascend310P3")
    (line,) = ended.stderr.splitlines()
    assert "Ascend310P3" in line
    assert "not an NPU" in line


def test_the_first_910_is_refused_with_what_to_take_instead(run_engine):
    ended = run_engine("print(acl.aclInit(None), message())", TORCH_ACLNN_HOST_SOC="Ascend910A")
    assert "TORCH_ACLNN_HOST_SOC: expected Ascend910B3 or another name of A2" in ended.stdout and 'got "Ascend910A"' in ended.stdout


def test_configuration_file_sets_the_default_device(run_engine, tmp_path):
    file = tmp_path / "acl.json"
    file.write_text('{"dump": {}, "defaultDevice": {"default_device": "1"}}')
    ended = run_engine(
        f"device = ctypes.c_int32(); print(acl.aclInit({bytes(file)!r}))\nprint(acl.aclrtGetDevice(ctypes.byref(device)), device.value)",
        TORCH_ACLNN_HOST_DEVICES="2",
    )
    assert ended.stdout.split() == ["0", "0", "1"]


@pytest.mark.parametrize(("content", "code", "words"), [
    (None, 100000, "readable file"),
    ('{"defaultDevice": {"default_device": "7"}}', 107001, "got 7"),
    ('{"defaultDevice": {}}', 107001, "default_device"),
])  # fmt: skip
def test_bad_configuration_file_is_refused(run_engine, tmp_path, content, code, words):
    file = tmp_path / "acl.json"
    if content is not None:
        file.write_text(content)
    ended = run_engine(f"print(acl.aclInit({bytes(file)!r}), message())")
    assert ended.stdout.startswith(f"{code} aclInit: ")
    assert words in ended.stdout


@pytest.mark.parametrize(("value", "mebibytes"), [("1M", 1), ("3145728", 3), ("2g", 2048), ("", 8192)])
def test_memory_setting_is_understood(run_engine, value, mebibytes):
    ended = run_engine(
        "free, total = ctypes.c_size_t(), ctypes.c_size_t()\n"
        "acl.aclrtSetDevice(0); acl.aclrtGetMemInfo(1, ctypes.byref(free), ctypes.byref(total))\n"
        "print(total.value >> 20)",
        TORCH_ACLNN_HOST_MEMORY=value,
    )
    assert ended.stdout.split() == [str(mebibytes)]
