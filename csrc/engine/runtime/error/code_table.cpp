#include "engine/runtime/error/code_table.h"

#include <algorithm>
#include <iterator>

#include "acl/acl.h"
#include "aclnn/acl_meta.h"
#include "engine/runtime/visibility.h"
#include "hccl/hccl_types.h"

namespace torch_aclnn::host {

constexpr const char* kRuntime = "runtime";
constexpr const char* kOperators = "operators";
constexpr const char* kCollectives = "collectives";

constexpr const char* kTheCall = "the call";
constexpr const char* kPhase1 = "phase 1";
constexpr const char* kBothPhases = "phase 1 or 2";
constexpr const char* kSynchronisation = "the next synchronisation";

const torchAclnnErrorCode kTable[] = {
    {HCCL_E_PARA, "HCCL_E_PARA", kCollectives, "an argument is outside the contract, or the ranks do not do the same", kTheCall},
    {HCCL_E_PTR, "HCCL_E_PTR", kCollectives, "a required pointer is null", kTheCall},
    {HCCL_E_MEMORY, "HCCL_E_MEMORY", kCollectives, "no host memory is left, or a buffer was freed before the collective had run",
     "the call, HcclGetCommAsyncError"},
    {HCCL_E_INTERNAL, "HCCL_E_INTERNAL", kCollectives, "a failure within the engine", "the call, HcclGetCommAsyncError"},
    {HCCL_E_NOT_SUPPORT, "HCCL_E_NOT_SUPPORT", kCollectives, "a type or a setting that there is not, or a process without torch", kTheCall},
    {HCCL_E_UNAVAIL, "HCCL_E_UNAVAIL", kCollectives, "the communicator is lost, being destroyed, or that of another process",
     "the call, HcclGetCommAsyncError"},
    {HCCL_E_SYSCALL, "HCCL_E_SYSCALL", kCollectives, "the port at which the ranks are to meet cannot be opened", kTheCall},
    {HCCL_E_TIMEOUT, "HCCL_E_TIMEOUT", kCollectives, "another rank did not come in time", "the call, HcclGetCommAsyncError"},
    {HCCL_E_TCP_CONNECT, "HCCL_E_TCP_CONNECT", kCollectives, "the rank that the others meet at cannot be reached", kTheCall},
    {HCCL_E_RUNTIME, "HCCL_E_RUNTIME", kCollectives, "the runtime refused: no device, a dead stream; the message ends with its code",
     kTheCall},
    {HCCL_E_REMOTE, "HCCL_E_REMOTE", kCollectives, "another rank failed or has ended", "the call, HcclGetCommAsyncError"},

    {ACL_ERROR_INVALID_PARAM, "ACL_ERROR_INVALID_PARAM", kRuntime,
     "a null pointer, an option that there is not, or an environment variable that cannot be understood", kTheCall},
    {ACL_ERROR_UNINITIALIZE, "ACL_ERROR_UNINITIALIZE", kRuntime, "there was no aclInit", "aclFinalize"},
    {ACL_ERROR_REPEAT_INITIALIZE, "ACL_ERROR_REPEAT_INITIALIZE", kRuntime, "the process has called it before", "aclInit"},
    {ACL_ERROR_REPEAT_FINALIZE, "ACL_ERROR_REPEAT_FINALIZE", kRuntime, "the process has called it before", "aclFinalize"},
    {ACL_ERROR_RT_PARAM_INVALID, "ACL_ERROR_RT_PARAM_INVALID", kRuntime,
     "a size, an address, a kind or a flag is outside the contract; memory is not the device's or was freed", kTheCall},
    {ACL_ERROR_RT_INVALID_DEVICEID, "ACL_ERROR_RT_INVALID_DEVICEID", kRuntime, "there is no device of that number", kTheCall},
    {ACL_ERROR_RT_CONTEXT_NULL, "ACL_ERROR_RT_CONTEXT_NULL", kRuntime, "the thread has no device, or it has been reset", kTheCall},
    {ACL_ERROR_RT_STREAM_SUBSCRIBE, "ACL_ERROR_RT_STREAM_SUBSCRIBE", kRuntime, "the stream has a thread for its callbacks, or has none",
     "aclrtSubscribeReport, aclrtUnSubscribeReport"},
    {ACL_ERROR_RT_THREAD_SUBSCRIBE, "ACL_ERROR_RT_THREAD_SUBSCRIBE", kRuntime,
     "the thread is not that of the stream's callbacks, or that of no stream", "the functions of callbacks"},
    {ACL_ERROR_RT_STREAM_NO_CB_REG, "ACL_ERROR_RT_STREAM_NO_CB_REG", kRuntime, "the stream has no thread for its callbacks",
     "aclrtLaunchCallback"},
    {ACL_ERROR_RT_INVALID_HANDLE, "ACL_ERROR_RT_INVALID_HANDLE", kRuntime, "a stream, an event, a context or memory that is not live",
     kTheCall},
    {107020, "ACL_ERROR_RT_STREAM_SYNC_TIMEOUT", kRuntime, "the work did not end in the time that the caller gave",
     "synchronisations with a timeout"},
    {ACL_ERROR_RT_STREAM_UNJOINED, "ACL_ERROR_RT_STREAM_UNJOINED", kRuntime,
     "a stream joined the capture of a graph, and the one that the capture began with did not wait for it", "aclmdlRICaptureEnd"},
    {ACL_ERROR_RT_STREAM_CAPTURED, "ACL_ERROR_RT_STREAM_CAPTURED", kRuntime,
     "a stream that is captured, or an event recorded on one, cannot be waited for or asked about", kTheCall},
    {ACL_ERROR_RT_CAPTURE_MODE_NOT_SUPPORT, "ACL_ERROR_RT_CAPTURE_MODE_NOT_SUPPORT", kRuntime,
     "the mode of a capture forbids the thread to copy or fill synchronously, or memory that is not page-locked", kTheCall},
    {ACLNN_ERR_PARAM_NULLPTR, "ACLNN_ERR_PARAM_NULLPTR", kOperators, "a required pointer is null", kBothPhases},
    {ACLNN_ERR_PARAM_INVALID, "ACLNN_ERR_PARAM_INVALID", kOperators,
     "a data type, rank, shape, format, value, product, workspace or handle is outside the contract", kBothPhases},
    {ACLNN_ERR_INNER_TILING_ERROR, "ACLNN_ERR_INNER_TILING_ERROR", kOperators,
     "attention of sequences below each other has heads of a size that hardware does not take", kPhase1},
    {ACLNN_ERR_INNER_NULLPTR, "ACLNN_ERR_INNER_NULLPTR", kOperators, "the view of an input goes beyond its storage", kPhase1},
    {ACL_ERROR_BAD_ALLOC, "ACL_ERROR_BAD_ALLOC", kRuntime, "no host memory is left", kTheCall},
    {ACL_ERROR_API_NOT_SUPPORT, "ACL_ERROR_API_NOT_SUPPORT", kRuntime,
     "the engine does not have the function, or the operator of that name", "the call; for an operator by name, the next synchronisation"},
    {ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "ACL_ERROR_RT_FEATURE_NOT_SUPPORT", kRuntime, "the engine has only another form of it", kTheCall},
    {ACL_ERROR_RT_MEMORY_ALLOCATION, "ACL_ERROR_RT_MEMORY_ALLOCATION", kRuntime, "the device, or the machine, has not that much memory",
     kTheCall},
    {ACLNN_ERR_RUNTIME_ERROR, "ACLNN_ERR_RUNTIME_ERROR", kOperators, "the stream did not take the work, or aclFinalize has been called",
     kBothPhases},
    {ACL_ERROR_INTERNAL_ERROR, "ACL_ERROR_INTERNAL_ERROR", kRuntime, "a failure within the engine", kTheCall},
    {kStreamDied, "ACL_ERROR_RT_TS_ERROR", kRuntime, "fault injection only: the stream is dead", kSynchronisation},
    {kDeviceLost, "ACL_ERROR_RT_LOST_HEARTBEAT", kRuntime, "fault injection only: the device is lost",
     "the call, the next synchronisation"},
    {ACL_ERROR_RT_REPORT_TIMEOUT, "ACL_ERROR_RT_REPORT_TIMEOUT", kRuntime, "no callback came in the time that the caller gave",
     "aclrtProcessReport"},
    {ACL_ERROR_RT_AICORE_EXCEPTION, "ACL_ERROR_RT_AICORE_EXCEPTION", kRuntime, "an operator failed while it computed", kSynchronisation},
    {507022, "ACL_ERROR_RT_IPC_ERROR", kRuntime, "a collective failed; the message has the reason", kSynchronisation},
    {kDriverFailed, "ACL_ERROR_RT_DRV_INTERNAL_ERROR", kRuntime, "fault injection only: a function of the runtime fails", kTheCall},
    {ACLNN_ERR_INNER, "ACLNN_ERR_INNER", kOperators, "a failure within the engine", "phase 2"},
    {ACLNN_ERR_INNER_FIND_KERNEL_ERROR, "ACLNN_ERR_INNER_FIND_KERNEL_ERROR", kOperators, "torch's libraries, which compute, do not load",
     kBothPhases},
    {ACLNN_ERR_INNER_CREATE_EXECUTOR, "ACLNN_ERR_INNER_CREATE_EXECUTOR", kOperators,
     "a failure within the engine, or no host memory is left", kPhase1},
};

const torchAclnnErrorCode* find_code(int code) noexcept {
    const auto* const found = std::find_if(std::begin(kTable), std::end(kTable), [code](const auto& row) { return row.code == code; });
    return found != std::end(kTable) ? found : nullptr;
}

}  // namespace torch_aclnn::host

extern "C" TORCH_ACLNN_HOST_API const torchAclnnErrorCode* torchAclnnHostErrorCodes(size_t* count) {
    if (count != nullptr) *count = std::size(torch_aclnn::host::kTable);
    return torch_aclnn::host::kTable;
}
