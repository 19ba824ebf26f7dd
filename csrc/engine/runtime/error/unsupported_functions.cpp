// What the engine does not do. A caller gets the documented code and a message with the function's name, whatever it passes.
// torch_npu takes 207000 as a reason to warn and go on, so a function that has to do its work to be of use answers 200001.
// What torch_npu can do without is not here at all: it asks whether a function exists and takes another way.

#include "engine/runtime/error/guarded.h"

namespace torch_aclnn::host {
namespace {

aclError unsupported(const char* function, aclError code, const char* what) {
    return guarded(function, [&] { throw Error(code, text("the torch_aclnn host engine has no ", what)); });
}

}  // namespace
}  // namespace torch_aclnn::host

// A C function that takes no parameters may be called with any: the caller cleans up.
#define UNSUPPORTED(function, code, what)                             \
    extern "C" TORCH_ACLNN_HOST_API aclError function(void) {         \
        return torch_aclnn::host::unsupported(#function, code, what); \
    }
#define UNSUPPORTED_ACL(function, what) UNSUPPORTED(function, ACL_ERROR_API_NOT_SUPPORT, what)
#define UNSUPPORTED_RT(function, what) UNSUPPORTED(function, ACL_ERROR_RT_FEATURE_NOT_SUPPORT, what)
#define UNSUPPORTED_POINTER(function, what)                                         \
    extern "C" TORCH_ACLNN_HOST_API void* function(void) {                          \
        torch_aclnn::host::unsupported(#function, ACL_ERROR_API_NOT_SUPPORT, what); \
        return nullptr;                                                             \
    }

// Dumps of what operators take and give.
UNSUPPORTED_ACL(aclmdlInitDump, "operator dumps")
UNSUPPORTED_ACL(aclmdlSetDump, "operator dumps")
UNSUPPORTED_ACL(aclmdlFinalizeDump, "operator dumps")

// Operators as graphs for the compiler.
UNSUPPORTED_POINTER(aclCreateGraphDumpOpt, "operator compiler")
UNSUPPORTED_ACL(aclDestroyGraphDumpOpt, "operator compiler")
UNSUPPORTED_ACL(aclGenGraphAndDumpForOp, "operator compiler")

// Profiling.
UNSUPPORTED_ACL(aclprofInit, "profiler")
UNSUPPORTED_ACL(aclprofStart, "profiler")
UNSUPPORTED_ACL(aclprofStop, "profiler")
UNSUPPORTED_ACL(aclprofFinalize, "profiler")
UNSUPPORTED_POINTER(aclprofCreateConfig, "profiler")
UNSUPPORTED_ACL(aclprofDestroyConfig, "profiler")
UNSUPPORTED_POINTER(aclprofCreateStepInfo, "profiler")
UNSUPPORTED_ACL(aclprofGetStepTimestamp, "profiler")
UNSUPPORTED_ACL(aclprofDestroyStepInfo, "profiler")

// Programs for the chip's own cores.
UNSUPPORTED_ACL(aclrtBinaryLoadFromData, "loader for chip binaries")
UNSUPPORTED_ACL(aclrtBinaryGetFunction, "loader for chip binaries")
UNSUPPORTED_ACL(aclrtGetFunctionAddr, "loader for chip binaries")
UNSUPPORTED_RT(rtDevBinaryRegister, "loader for chip binaries")
UNSUPPORTED_RT(rtFunctionRegister, "loader for chip binaries")
UNSUPPORTED_RT(rtKernelLaunch, "loader for chip binaries")
UNSUPPORTED_RT(rtGetC2cCtrlAddr, "chip cores that could synchronise")

// Attributes of a stream; torch_npu sets one before it captures a graph.
UNSUPPORTED_ACL(aclrtSetStreamAttribute, "stream attributes and no graphs that would be captured from a stream")

// Memory and events that several processes share.
UNSUPPORTED_ACL(aclrtMemExportToShareableHandle, "memory between processes")
UNSUPPORTED_ACL(aclrtMemImportFromShareableHandle, "memory between processes")
UNSUPPORTED_ACL(aclrtMemSetPidToShareableHandle, "memory between processes")
UNSUPPORTED_ACL(aclrtDeviceGetBareTgid, "memory between processes")
UNSUPPORTED_ACL(aclrtIpcMemGetExportKey, "memory between processes")
UNSUPPORTED_ACL(aclrtIpcMemSetImportPid, "memory between processes")
UNSUPPORTED_ACL(aclrtIpcMemImportByKey, "memory between processes")
UNSUPPORTED_ACL(aclrtIpcMemClose, "memory between processes")

// Callbacks on a thread that the program provides; aclrtLaunchHostFunc needs none.
UNSUPPORTED_ACL(aclrtLaunchCallback, "callback threads; use aclrtLaunchHostFunc")
UNSUPPORTED_ACL(aclrtSubscribeReport, "callback threads; use aclrtLaunchHostFunc")
UNSUPPORTED_ACL(aclrtUnSubscribeReport, "callback threads; use aclrtLaunchHostFunc")
UNSUPPORTED_ACL(aclrtProcessReport, "callback threads; use aclrtLaunchHostFunc")

// Shares of a chip's cores.
UNSUPPORTED_ACL(aclrtGetDeviceResLimit, "chip cores to share out")
UNSUPPORTED_ACL(aclrtSetDeviceResLimit, "chip cores to share out")
UNSUPPORTED_ACL(aclrtResetDeviceResLimit, "chip cores to share out")
UNSUPPORTED_ACL(aclrtGetStreamResLimit, "chip cores to share out")
UNSUPPORTED_ACL(aclrtSetStreamResLimit, "chip cores to share out")
UNSUPPORTED_ACL(aclrtResetStreamResLimit, "chip cores to share out")
UNSUPPORTED_ACL(aclrtUseStreamResInCurrentThread, "chip cores to share out")
UNSUPPORTED_ACL(aclrtUnuseStreamResInCurrentThread, "chip cores to share out")
UNSUPPORTED_ACL(aclrtGetResInCurrentThread, "chip cores to share out")

// The health and the load of a chip.
UNSUPPORTED_ACL(aclrtGetDeviceUtilizationRate, "chip whose load could be measured")
UNSUPPORTED_ACL(aclrtDeviceTaskAbort, "way to abort a CPU kernel")
UNSUPPORTED_ACL(aclrtMemUceRepair, "chip memory to repair")
UNSUPPORTED_ACL(aclrtRepairError, "chip to repair")
UNSUPPORTED_ACL(aclrtGetErrorVerbose, "chip errors to explain")
UNSUPPORTED_ACL(aclrtCmoAsync, "cache to prefetch into")

// Words of memory that a stream waits for.
UNSUPPORTED_ACL(aclrtValueWait, "streams that wait for memory")
UNSUPPORTED_ACL(aclrtValueWrite, "streams that wait for memory")
