// What the engine does not do. A caller gets the documented code and a message with the function's name, whatever it passes.
// torch_npu takes 207000 as a reason to warn and go on, so a function that has to do its work to be of use answers 200001.
// What torch_npu can do without is not here at all: it asks whether a function exists and takes another way.

#include "engine/runtime/diagnostics/entry_point.h"
#include "engine/runtime/error/guarded.h"

namespace torch_aclnn::host {

static aclError unsupported(const char* function, aclError code, const char* what) {
    return guarded(function, [&] { throw Error(code, text("the torch_aclnn host engine has no ", what)); });
}
}  // namespace torch_aclnn::host

// Each is listed by torchAclnnHostEntryPoints(), for the documentation. A C function that takes no parameters may be called with any: the
// caller cleans up.
#define LIST(function) static torch_aclnn::host::EntryPoint function##Entry(#function, "runtime");
#define REFUSE(function, code, what)                                  \
    LIST(function)                                                    \
    extern "C" TORCH_ACLNN_HOST_API aclError function(void) {         \
        return torch_aclnn::host::unsupported(#function, code, what); \
    }
#define REFUSE_ACL(function, what) REFUSE(function, ACL_ERROR_API_NOT_SUPPORT, what)
#define REFUSE_RT(function, what) REFUSE(function, ACL_ERROR_RT_FEATURE_NOT_SUPPORT, what)
#define REFUSE_WITH(function, Result, value, what)                                  \
    LIST(function)                                                                  \
    extern "C" TORCH_ACLNN_HOST_API Result function(void) {                         \
        torch_aclnn::host::unsupported(#function, ACL_ERROR_API_NOT_SUPPORT, what); \
        return value;                                                               \
    }
#define REFUSE_POINTER(function, what) REFUSE_WITH(function, void*, nullptr, what)

// Dumps of what operators take and give.
REFUSE_ACL(aclmdlInitDump, "operator dumps")
REFUSE_ACL(aclmdlSetDump, "operator dumps")
REFUSE_ACL(aclmdlFinalizeDump, "operator dumps")
REFUSE_ACL(aclopStartDumpArgs, "operator dumps")
REFUSE_ACL(aclopStopDumpArgs, "operator dumps")

// Channels on which a graph sends tensors to the host.
REFUSE_POINTER(acltdtCreateChannelWithCapacity, "channels to the host")
REFUSE_ACL(acltdtDestroyChannel, "channels to the host")
REFUSE_ACL(acltdtReceiveTensor, "channels to the host")
REFUSE_POINTER(acltdtCreateDataset, "channels to the host")
REFUSE_ACL(acltdtDestroyDataset, "channels to the host")
REFUSE_POINTER(acltdtGetDataItem, "channels to the host")
REFUSE_WITH(acltdtGetDatasetSize, size_t, 0, "channels to the host")
REFUSE_POINTER(acltdtGetDataAddrFromItem, "channels to the host")
REFUSE_WITH(acltdtGetDataSizeFromItem, size_t, 0, "channels to the host")
REFUSE_WITH(acltdtGetDimNumFromItem, size_t, 0, "channels to the host")
REFUSE_ACL(acltdtGetDimsFromItem, "channels to the host")
REFUSE_WITH(acltdtGetDataTypeFromItem, aclDataType, ACL_DT_UNDEFINED, "channels to the host")

// Operators as graphs for the compiler.
REFUSE_POINTER(aclCreateGraphDumpOpt, "operator compiler")
REFUSE_ACL(aclDestroyGraphDumpOpt, "operator compiler")
REFUSE_ACL(aclGenGraphAndDumpForOp, "operator compiler")

// Profiling.
REFUSE_ACL(aclprofStart, "profiler")
REFUSE_ACL(aclprofStop, "profiler")
REFUSE_ACL(aclprofFinalize, "profiler")
REFUSE_POINTER(aclprofCreateConfig, "profiler")
REFUSE_ACL(aclprofDestroyConfig, "profiler")
REFUSE_POINTER(aclprofCreateStepInfo, "profiler")
REFUSE_ACL(aclprofGetStepTimestamp, "profiler")
REFUSE_ACL(aclprofDestroyStepInfo, "profiler")

// Programs for the chip's own cores.
REFUSE_ACL(aclrtBinaryLoadFromData, "loader for chip binaries")
REFUSE_ACL(aclrtBinaryGetFunction, "loader for chip binaries")
REFUSE_ACL(aclrtGetFunctionAddr, "loader for chip binaries")
REFUSE_RT(rtDevBinaryRegister, "loader for chip binaries")
REFUSE_RT(rtFunctionRegister, "loader for chip binaries")
REFUSE_RT(rtKernelLaunch, "loader for chip binaries")
REFUSE_RT(rtGetC2cCtrlAddr, "chip cores that could synchronise")

// The health and the load of a chip.
REFUSE_ACL(aclrtGetDeviceUtilizationRate, "chip whose load could be measured")
REFUSE_ACL(aclrtDeviceTaskAbort, "way to abort a CPU kernel")
REFUSE_ACL(aclmdlRIAbort, "way to abort a CPU kernel")
REFUSE_ACL(aclrtMemUceRepair, "chip memory to repair")
REFUSE_ACL(aclrtRepairError, "chip to repair")
REFUSE_ACL(aclrtCmoAsync, "cache to prefetch into")

// Explains an error of the chip. torch_npu asks before it reads the message of the call that failed, so that message stays the last one.
LIST(aclrtGetErrorVerbose)
extern "C" TORCH_ACLNN_HOST_API aclError aclrtGetErrorVerbose(void) {
    return ACL_ERROR_API_NOT_SUPPORT;
}
