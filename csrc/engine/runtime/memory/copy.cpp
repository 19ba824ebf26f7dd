// Copying and filling memory, now or in stream order.

#include <cstring>

#include "engine/runtime/device/context.h"
#include "engine/runtime/error/call.h"
#include "engine/runtime/memory/memory.h"
#include "engine/runtime/stream/stream.h"

namespace torch_aclnn::host {
namespace {

const char* const kKinds[] = {"ACL_MEMCPY_HOST_TO_HOST", "ACL_MEMCPY_HOST_TO_DEVICE", "ACL_MEMCPY_DEVICE_TO_HOST",
                              "ACL_MEMCPY_DEVICE_TO_DEVICE", "ACL_MEMCPY_DEFAULT"};

aclError check_room(const char* function, const char* limit, size_t room, size_t count) {
    if (count <= room) return ACL_SUCCESS;
    return fail(ACL_ERROR_RT_PARAM_INVALID, text(function, ": count must not be larger than ", limit, " (", room, "), got ", count));
}

// Device memory must hold the whole range. Nothing is known about other memory: it is the caller's.
aclError check_range(const char* function, const char* parameter, const void* address, size_t count, const char* device_kind) {
    auto reach = device_memory().reach(address, count);
    if (!reach && device_kind != nullptr) reach = registered_memory().reach(address, count);
    if (!reach) {
        if (device_kind == nullptr) return ACL_SUCCESS;
        return fail(ACL_ERROR_RT_PARAM_INVALID, text(function, ": ", parameter, " must be device memory with kind ", device_kind, ", got ",
                                                     address, ", which is in no allocation of a device"));
    }
    if (*reach >= count) return ACL_SUCCESS;
    return fail(ACL_ERROR_RT_PARAM_INVALID,
                text(function, ": ", parameter, " has ", *reach, " bytes left in its device allocation, got count ", count));
}

aclError check_copy(const char* function, void* dst, size_t destMax, const void* src, size_t count, int kind) {
    if (dst == nullptr) return fail_null(function, "dst");
    if (src == nullptr) return fail_null(function, "src");
    if (kind < ACL_MEMCPY_HOST_TO_HOST || kind > ACL_MEMCPY_DEFAULT) {
        return fail(ACL_ERROR_RT_PARAM_INVALID, text(function, ": kind must be from 0 to 4 (ACL_MEMCPY_DEFAULT), got ", kind));
    }
    if (aclError code = check_room(function, "destMax", destMax, count)) return code;
    const bool to_device = kind == ACL_MEMCPY_HOST_TO_DEVICE || kind == ACL_MEMCPY_DEVICE_TO_DEVICE;
    const bool from_device = kind == ACL_MEMCPY_DEVICE_TO_HOST || kind == ACL_MEMCPY_DEVICE_TO_DEVICE;
    if (aclError code = check_range(function, "dst", dst, count, to_device ? kKinds[kind] : nullptr)) return code;
    return check_range(function, "src", src, count, from_device ? kKinds[kind] : nullptr);
}

aclError check_fill(const char* function, void* devPtr, size_t maxCount, size_t count) {
    if (devPtr == nullptr) return fail_null(function, "devPtr");
    if (aclError code = check_room(function, "maxCount", maxCount, count)) return code;
    return check_range(function, "devPtr", devPtr, count, nullptr);
}

// memmove: on a device a copy onto itself is allowed.
class Copy : public Task {
   public:
    Copy(void* dst, const void* src, size_t count) : dst_(dst), src_(src), count_(count) {}
    const char* name() const override { return "aclrtMemcpyAsync"; }
    void run() override { std::memmove(dst_, src_, count_); }
    void finish() noexcept override { delete this; }

   private:
    void* dst_;
    const void* src_;
    size_t count_;
};

class Fill : public Task {
   public:
    Fill(void* memory, int value, size_t count) : memory_(memory), value_(value), count_(count) {}
    const char* name() const override { return "aclrtMemsetAsync"; }
    void run() override { std::memset(memory_, value_, count_); }
    void finish() noexcept override { delete this; }

   private:
    void* memory_;
    int value_;
    size_t count_;
};

// The synchronous forms wait for the current device's default stream, if the thread has a device, and tell what failed on it.
aclError settle_default_stream(const char* function) {
    if (chosen_device() < 0) return ACL_SUCCESS;
    std::shared_ptr<Stream> stream;
    if (aclError code = find_stream(function, nullptr, stream)) return code;
    stream->wait(Stream::kForever);
    const auto failure = stream->failure();
    return failure == nullptr ? ACL_SUCCESS : failure->tell();
}

}  // namespace
}  // namespace torch_aclnn::host

using namespace torch_aclnn::host;

extern "C" aclError aclrtMemcpy(void* dst, size_t destMax, const void* src, size_t count, aclrtMemcpyKind kind) {
    return traced(
        __func__,
        [&](const char* function) -> aclError {
            if (aclError code = check_copy(function, dst, destMax, src, count, kind)) return code;
            if (aclError code = settle_default_stream(function)) return code;
            std::memmove(dst, src, count);
            return ACL_SUCCESS;
        },
        [&] { return text(dst, ", ", destMax, ", ", src, ", ", count, ", kind ", kind); });
}

extern "C" aclError aclrtMemcpyAsync(void* dst, size_t destMax, const void* src, size_t count, aclrtMemcpyKind kind, aclrtStream stream) {
    return traced(
        __func__,
        [&](const char* function) -> aclError {
            if (aclError code = check_copy(function, dst, destMax, src, count, kind)) return code;
            std::shared_ptr<Stream> where;
            if (aclError code = find_stream(function, stream, where)) return code;
            where->submit(*new Copy(dst, src, count));
            return ACL_SUCCESS;
        },
        [&] { return text(dst, ", ", destMax, ", ", src, ", ", count, ", kind ", kind, ", stream ", stream); });
}

extern "C" aclError aclrtMemset(void* devPtr, size_t maxCount, int32_t value, size_t count) {
    return traced(
        __func__,
        [&](const char* function) -> aclError {
            if (aclError code = check_fill(function, devPtr, maxCount, count)) return code;
            if (aclError code = settle_default_stream(function)) return code;
            std::memset(devPtr, value, count);
            return ACL_SUCCESS;
        },
        [&] { return text(devPtr, ", ", maxCount, ", value ", value, ", ", count); });
}

extern "C" aclError aclrtMemsetAsync(void* devPtr, size_t maxCount, int32_t value, size_t count, aclrtStream stream) {
    return traced(
        __func__,
        [&](const char* function) -> aclError {
            if (aclError code = check_fill(function, devPtr, maxCount, count)) return code;
            std::shared_ptr<Stream> where;
            if (aclError code = find_stream(function, stream, where)) return code;
            where->submit(*new Fill(devPtr, value, count));
            return ACL_SUCCESS;
        },
        [&] { return text(devPtr, ", ", maxCount, ", value ", value, ", ", count, ", stream ", stream); });
}
