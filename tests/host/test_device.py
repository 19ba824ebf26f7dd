"""Devices, contexts and what the engine says about itself."""

import ctypes
from ctypes import byref, c_int32, c_int64, c_uint32

import pytest

from support.subprocesses import output_of


# The next two need a process of their own: in this one torch_npu has given aclInit a default device.
def test_thread_without_a_device_has_none(run_engine):
    ended = run_engine("device = ctypes.c_int32(-7); print(acl.aclrtGetDevice(ctypes.byref(device)), device.value)")
    assert ended.stdout.split() == ["107002", "-7"]


def test_reset_takes_the_device_from_the_thread(run_engine):
    ended = run_engine(
        "device, stream = ctypes.c_int32(), ctypes.c_void_p()\n"
        "print(acl.aclrtSetDevice(0), acl.aclrtResetDevice(0))\n"
        "print(acl.aclrtGetDevice(ctypes.byref(device)), message())\n"
        "print(acl.aclrtCreateStream(ctypes.byref(stream)), message())"
    )
    done, device, stream = ended.stdout.splitlines()
    assert done == "0 0"
    assert device.startswith("107002") and "expected a current device, as aclrtSetDevice sets it" in device
    assert stream.startswith("107002") and "expected a current device, as aclrtSetDevice sets it" in stream


def test_reset_gives_up_a_wait_for_a_value_that_nothing_writes(run_engine):
    ended = run_engine(
        "acl.aclrtSetDevice(0); address = acl.create('aclrtMalloc', 64, 0)\n"
        "print(acl.aclrtMemset(address, 64, 0, 64), acl.aclrtValueWait(address, 7, 1, acl.create('aclrtCreateStream')))\n"
        "print(acl.aclrtResetDevice(0))"
    )
    assert ended.stdout.split() == ["0", "0", "0"], ended.stderr
    assert "aclrtValueWait: device 0 is being reset, and nothing has written what is waited for, 7" in ended.stderr


@pytest.mark.parametrize("name", ["aclrtSetDevice", "aclrtResetDevice"])
@pytest.mark.parametrize("device", [-1, 64, 2**31 - 1])
def test_device_out_of_range_is_refused(acl, name, device):
    acl.refuses(107001, f"got {device}", name, device)


@pytest.mark.parametrize("name", ["aclrtGetDevice", "aclrtGetDeviceCount", "aclrtGetCurrentContext"])
def test_null_result_is_refused(acl, name):
    acl.refuses(100000, "expected a value, got null", name, None)


def test_devices_have_memory_of_their_own(run_engine):
    ended = run_engine(
        "free, total = ctypes.c_size_t(), ctypes.c_size_t()\n"
        "acl.aclInit(None); acl.aclrtSetDevice(1); acl.create('aclrtMalloc', 1 << 20, 0)\n"
        "for device in (0, 1):\n"
        "    acl.aclrtSetDevice(device)\n"
        "    acl.aclrtGetMemInfo(1, ctypes.byref(free), ctypes.byref(total))\n"
        "    print(free.value >> 20, total.value >> 20)\n",
        TORCH_ACLNN_HOST_DEVICES="2",
        TORCH_ACLNN_HOST_MEMORY="16M",
    )
    assert ended.stdout.split() == ["16", "16", "15", "16"], ended.stderr


DEVICES, VISIBLE, PROCESSES = "TORCH_ACLNN_HOST_DEVICES", "ASCEND_RT_VISIBLE_DEVICES", "LOCAL_WORLD_SIZE"
OF_FOUR = {"1": 1, "1,3": 2, "1,3,4": 2, "0, 1": 1, "0,1,2,3": 4}
NONE = ("", ",", ",0", "npu0", "0,0", "1,0", "2,1", "4", "-1", "first")


@pytest.mark.parametrize(("settings", "count"), [
    *(({DEVICES: "4", VISIBLE: visible}, count) for visible, count in {**OF_FOUR, **dict.fromkeys(NONE, 0)}.items()),
    ({DEVICES: "", VISIBLE: "5,7"}, 2),
    ({DEVICES: "5", PROCESSES: ""}, 5),
    ({DEVICES: "5", PROCESSES: "3"}, 5),
    *(({DEVICES: "", PROCESSES: processes}, count) for processes, count in {"3": 3, "100": 64, "0": 1, "many": 1}.items()),
], ids=str)  # fmt: skip
def test_devices_are_those_that_are_visible_or_what_was_set_or_one_for_each_process(run_engine, settings, count):
    code = "count = ctypes.c_uint32(); print(acl.aclrtGetDeviceCount(ctypes.byref(count)), count.value)"
    ended = run_engine(code, **settings)
    assert ended.stdout.split() == ["0", str(count)], ended.stderr


def test_visible_devices_count_from_the_first_use_on(run_engine):
    """The variable is read at the first use of a device, not when the engine is loaded or asked for something else."""
    ended = run_engine(
        "import os\n"
        "count = ctypes.c_uint32(); acl.aclrtGetSocName()\n"
        "os.environ['ASCEND_RT_VISIBLE_DEVICES'] = ''\n"
        "print(acl.aclrtGetDeviceCount(ctypes.byref(count)), count.value)\n"
        "print(acl.aclInit(None), acl.aclrtSetDevice(0), message())",
        TORCH_ACLNN_HOST_DEVICES="4",
    )
    assert ended.stdout.splitlines() == [
        "0 0",
        "0 107001 aclrtSetDevice: deviceId: expected a device, of which ASCEND_RT_VISIBLE_DEVICES leaves none, got 0",
    ], ended.stderr


LIMITS = ("aclrtGetDeviceResLimit", "aclrtGetStreamResLimit", "aclrtGetResInCurrentThread")


def test_cores_are_limited_for_the_process_a_stream_and_a_thread(acl):
    stream = acl.create("aclrtCreateStream")

    def limits(kind=0):
        values = []
        for name, of in zip(LIMITS, ((0,), (stream,), ()), strict=True):
            value = c_uint32()
            acl.ok(name, *of, kind, byref(value))
            values.append(value.value)
        return values

    there = limits()[0]
    assert limits() == limits(1) == [there] * 3 and there > 0
    acl.ok("aclrtSetDeviceResLimit", 0, 0, 7)
    acl.ok("aclrtSetStreamResLimit", stream, 0, 5)
    assert limits() == [7, 5, 7] and limits(1) == [there] * 3
    acl.ok("aclrtUseStreamResInCurrentThread", stream)
    assert limits() == [7, 5, 5]
    acl.ok("aclrtUnuseStreamResInCurrentThread", stream)
    acl.ok("aclrtResetStreamResLimit", stream)
    assert limits() == [7, 7, 7]
    acl.ok("aclrtResetDeviceResLimit", 0)
    assert limits() == [there] * 3
    acl.refuses(107000, "type: expected 0 (cube cores) or 1 (vector cores), got 2", LIMITS[2], 2, byref(c_uint32()))
    acl.refuses(107000, "value: expected at least 1, got 0", "aclrtSetDeviceResLimit", 0, 0, 0)
    acl.ok("aclrtDestroyStream", stream)


def test_operators_run_where_torch_npu_logs_them():
    """With that log level torch_npu asks for the thread's cores."""
    code = "import torch, torch_aclnn; print(torch.ones(2).npu().add(1).tolist())"
    assert output_of(code, TORCH_NPU_LOGS="op_plugin").splitlines()[-1] == "[2.0, 2.0]"


def test_context_brings_its_device(run_engine):
    ended = run_engine(
        "acl.aclrtSetDevice(1); device = ctypes.c_int32()\n"
        "for context in (acl.create('aclrtGetCurrentContext'), acl.create('aclrtCreateContext', 0)):\n"
        "    acl.aclrtSetCurrentContext(context); acl.aclrtGetDevice(ctypes.byref(device)); print(device.value)\n",
        TORCH_ACLNN_HOST_DEVICES="2",
    )
    assert ended.stdout.split() == ["1", "0"], ended.stderr


def test_destroyed_context_is_refused(acl):
    context = acl.create("aclrtCreateContext", 0)
    acl.ok("aclrtDestroyContext", context)
    acl.refuses(107017, "live context", "aclrtSetCurrentContext", context)
    acl.refuses(107017, "live context", "aclrtDestroyContext", context)


def test_primary_context_cannot_be_destroyed(acl):
    context = acl.create("aclrtGetCurrentContext")
    acl.refuses(107000, "primary context of device 0", "aclrtDestroyContext", context)
    acl.ok("aclrtSetCurrentContext", context)


def test_device_does_not_reach_itself_as_a_peer(acl):
    reach = c_int32(-1)
    acl.ok("aclrtDeviceCanAccessPeer", byref(reach), 0, 0)
    assert reach.value == 0


def test_cores_are_the_threads(run_engine):
    ended = run_engine(
        "value = ctypes.c_int64()\n"
        "for kind in (0, 1, 99): print(acl.aclGetDeviceCapability(0, kind, ctypes.byref(value)), value.value)\n"
        "print(message())",
        TORCH_ACLNN_HOST_THREADS="3",
    )
    assert ended.stdout.splitlines()[:3] == ["0 3", "0 3", "100000 3"]
    assert "got 99" in ended.stdout


@pytest.mark.parametrize(("set_", "get"), [
    ("aclrtSetSysParamOpt", "aclrtGetSysParamOpt"),
    ("aclrtCtxSetSysParamOpt", "aclrtCtxGetSysParamOpt"),
])  # fmt: skip
def test_deterministic_option_reads_back(acl, set_, get):
    value = c_int64()
    for wanted in (1, 0):
        acl.ok(set_, 0, wanted)
        acl.ok(get, 0, byref(value))
        assert value.value == wanted
    acl.refuses(100000, "got 2", set_, 0, 2)
    acl.refuses(100000, "got 3", set_, 3, 0)
    acl.refuses(200001, "DEBUG_KERNEL", set_, 1, 1)


def test_an_option_that_nobody_has_set_for_the_context_is_refused(acl):
    before, value = acl.create("aclrtGetCurrentContext"), c_int64()
    context = acl.create("aclrtCreateContext", 0)  # the new context is the current one
    acl.refuses(100000, "has been set for the context, got 2", "aclrtCtxGetSysParamOpt", 2, byref(value))
    acl.ok("aclrtDestroyContext", context)
    acl.ok("aclrtSetCurrentContext", before)


def test_compile_option_reads_back(acl):
    text = ctypes.create_string_buffer(16)
    acl.ok("aclSetCompileopt", 0, b"allow")
    assert acl.aclGetCompileoptSize(0) == 6
    acl.ok("aclGetCompileopt", 0, text, 6)
    assert text.value == b"allow"
    acl.refuses(100000, "at least 6, got 5", "aclGetCompileopt", 0, text, 5)
    assert acl.aclGetCompileoptSize(1234) == 0
    acl.refuses(100000, "opt: expected an option with a value, got 1234", "aclGetCompileopt", 1234, text, 16)


def test_saturation_is_refused(acl):
    acl.ok("aclrtSetDeviceSatMode", 1)
    acl.refuses(207000, "got 0", "aclrtSetDeviceSatMode", 0)
