// What torch_npu uses of MSPTI, the documented interface of profilers (MindStudio Profiling Tool Interface): kernels' records.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/runtime/visibility.h"

extern "C" {

// Any code other than 0 is a failure to torch_npu.
typedef enum { MSPTI_SUCCESS = 0, MSPTI_ERROR_INVALID_PARAMETER = 1, MSPTI_ERROR_MAX_LIMIT_REACHED = 3 } msptiResult;

typedef enum { MSPTI_ACTIVITY_KIND_INVALID = 0, MSPTI_ACTIVITY_KIND_KERNEL = 2 } msptiActivityKind;

typedef struct __attribute__((packed, aligned(8))) {
    msptiActivityKind kind;
    uint64_t start;  // start and end in nanoseconds of Unix time
    uint64_t end;
    struct {
        uint32_t deviceId;
        uint32_t streamId;
    } ds;
    uint64_t correlationId;
    const char* type;
    const char* name;
} msptiActivityKernel;

typedef void* msptiSubscriberHandle;
typedef void (*msptiBuffersCallbackRequestFunc)(uint8_t** buffer, size_t* size, size_t* maxNumRecords);
typedef void (*msptiBuffersCallbackCompleteFunc)(uint8_t* buffer, size_t size, size_t validSize);

TORCH_ACLNN_HOST_API msptiResult msptiSubscribe(msptiSubscriberHandle* subscriber, void* callback, void* userdata);
TORCH_ACLNN_HOST_API msptiResult msptiUnsubscribe(msptiSubscriberHandle subscriber);
TORCH_ACLNN_HOST_API msptiResult msptiActivityRegisterCallbacks(msptiBuffersCallbackRequestFunc funcBufferRequested,
                                                                msptiBuffersCallbackCompleteFunc funcBufferCompleted);
TORCH_ACLNN_HOST_API msptiResult msptiActivityEnable(msptiActivityKind kind);
TORCH_ACLNN_HOST_API msptiResult msptiActivityDisable(msptiActivityKind kind);
TORCH_ACLNN_HOST_API bool msptiActivityIsEnabled(msptiActivityKind kind);
TORCH_ACLNN_HOST_API msptiResult msptiActivityFlushAll(uint32_t flag);
TORCH_ACLNN_HOST_API msptiResult msptiActivityGetNextRecord(uint8_t* buffer, size_t validBufferSizeBytes, msptiActivityKernel** record);
TORCH_ACLNN_HOST_API msptiResult msptiActivityPushExternalCorrelationId(int kind, uint64_t id);
TORCH_ACLNN_HOST_API msptiResult msptiActivityPopExternalCorrelationId(int kind, uint64_t* lastId);

}  // extern "C"
