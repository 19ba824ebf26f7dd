"""What the engine does not do it refuses by name; what torch_npu can do without is not there."""

import ctypes

import pytest
from torch_aclnn.loading.paths import libdir

NOT_SUPPORTED = [
    "aclmdlInitDump", "aclmdlSetDump", "aclmdlFinalizeDump", "aclGenGraphAndDumpForOp", "aclprofStart",
    "aclprofStop", "aclprofFinalize", "aclrtBinaryLoadFromData", "aclrtBinaryGetFunction", "aclrtGetFunctionAddr",
    "aclrtGetDeviceUtilizationRate", "aclrtDeviceTaskAbort", "aclrtCmoAsync", "aclmdlRIAbort",
]  # fmt: skip

# torch_npu looks these up and takes another way if they are not there.
OPTIONAL = [
    "aclGetCannAttribute", "aclrtDeviceGetUuid", "aclrtGetMemUceInfo",
    "aclrtIpcGetEventHandle", "aclrtMemcpyAsyncWithCondition", "aclrtMemcpyBatch",
    "aclrtPointerGetAttributes",
]  # fmt: skip

# Libraries that torch_npu names and that only pass on to libascendcl.so.
COMPANIONS = [
    "libacl_op_compiler.so", "libge_runner.so", "libgraph.so", "libacl_tdt_channel.so", "libhccl.so", "libruntime.so", "libascend_hal.so",
    "libascend_dump.so", "libfmk_parser.so", "libascend_protobuf.so",
]  # fmt: skip
# Others pass on to libopapi, which has all operators.
OF_OPERATORS = ["libnnopbase.so", "libopapi_nn.so", "libopapi_math.so"]


@pytest.mark.parametrize("name", NOT_SUPPORTED)
def test_refusal_has_code_and_name_whatever_is_passed(acl, name):
    acl.refuses(200001, "the torch_aclnn host engine has no", name, 1, None, 3, None)


@pytest.mark.parametrize("name", ["rtKernelLaunch", "rtDevBinaryRegister", "rtFunctionRegister", "rtGetC2cCtrlAddr"])
def test_inner_runtime_refuses_with_its_own_code(acl, name):
    acl.refuses(207000, "the torch_aclnn host engine has no", name)


def test_an_error_that_is_not_explained_keeps_its_message(acl):
    assert acl.aclrtMalloc(None, 1, 0) != 0
    assert acl.aclrtGetErrorVerbose(0, None) == 200001
    assert acl.message().startswith("aclrtMalloc: ")


def test_refusal_of_a_pointer_is_null(acl):
    create = acl.aclprofCreateConfig
    create.restype = ctypes.c_void_p
    assert create() is None
    assert acl.message().startswith("aclprofCreateConfig: ")


def test_refusals_without_a_code_have_a_value_that_means_none(acl):
    assert (acl.acltdtGetDatasetSize(None), acl.acltdtGetDataTypeFromItem(None)) == (0, -1)
    assert acl.message().startswith("acltdtGetDataTypeFromItem: the torch_aclnn host engine has no channels")


@pytest.mark.parametrize("name", OPTIONAL)
def test_what_is_optional_is_absent(acl, name):
    with pytest.raises(AttributeError, match=name):
        getattr(acl, name)


@pytest.mark.parametrize("name", ["aclopCompileAndExecute", "aclopCompileAndExecuteV2"])
def test_operator_without_entry_point_is_refused_by_its_name(acl, name):
    attributes = acl.aclopCreateAttr()
    acl.ok("aclopSetAttrInt", attributes, b"axis", 1)
    call = (b"Softsign", 0, None, None, 0, None, None, attributes, 0, 0, None, None)
    acl.ok("aclrtSetDevice", 0)
    acl.ok(name, *call)
    assert acl.aclrtSynchronizeStream(None) == 200001
    assert acl.message().startswith(f"{name}: operator Softsign has no entry point")
    acl.ok("aclrtSynchronizeStream", None)
    acl.refuses(100000, "opType: expected a value, got null", name, None, *call[1:])
    acl.aclopDestroyAttr(attributes)


@pytest.mark.parametrize("companion", COMPANIONS)
def test_companion_finds_the_runtime(acl, companion):
    library = ctypes.CDLL(str(libdir() / companion))
    address = ctypes.cast(library.aclrtSetDevice, ctypes.c_void_p).value
    assert address == ctypes.cast(acl.aclrtSetDevice, ctypes.c_void_p).value


@pytest.mark.parametrize("companion", OF_OPERATORS)
def test_companion_finds_the_operators(companion):
    library, operators = (ctypes.CDLL(str(libdir() / name)) for name in (companion, "libopapi.so"))
    assert ctypes.cast(library.aclnnAdd, ctypes.c_void_p).value == ctypes.cast(operators.aclnnAdd, ctypes.c_void_p).value


def test_driver_counts_the_devices(acl):
    count, of_runtime = ctypes.c_uint32(), ctypes.c_uint32()
    assert ctypes.CDLL(str(libdir() / "libascend_hal.so")).drvGetDevNum(ctypes.byref(count)) == 0
    acl.ok("aclrtGetDeviceCount", ctypes.byref(of_runtime))
    assert count.value == of_runtime.value


def test_every_symbol_that_torch_npu_links_is_there(acl):
    linked = [
        "MsprofGetHashId", "MsprofRegisterCallback", "MsprofReportAdditionalInfo", "MsprofReportApi",
        "MsprofReportCompactInfo", "MsprofSysCycleTime", "aclAppLog", "aclCreateDataBuffer", "aclCreateTensorDesc",
        "aclDestroyDataBuffer", "aclDestroyTensorDesc", "aclGetDeviceCapability", "aclGetTensorDescDimV2",
        "aclGetTensorDescFormat", "aclGetTensorDescNumDims", "aclGetTensorDescType", "aclSetTensorDescName",
        "aclSetTensorFormat", "aclSetTensorPlaceMent", "aclSetTensorShape", "aclopSetAttrBool", "aclopSetAttrDataType",
        "aclopSetAttrFloat", "aclopSetAttrListBool", "aclopSetAttrListFloat", "aclopSetAttrListInt",
        "aclopSetAttrListListInt", "aclopSetAttrString", "aclrtDeviceCanAccessPeer", "aclrtDeviceEnablePeerAccess",
        "aclrtFreePhysical", "aclrtMallocPhysical", "aclrtMapMem", "aclrtReleaseMemAddress", "aclrtReserveMemAddress",
        "aclrtUnmapMem",
    ]  # fmt: skip
    assert [name for name in linked if not hasattr(acl, name)] == []


def test_profiler_of_torch_npu_is_told_what_to_use_instead(acl):
    acl.refuses(200001, "torch.profiler.profile() shows them", "aclprofInit", None, 0)
