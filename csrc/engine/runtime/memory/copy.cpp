// Copying and filling memory, now or in stream order.

#include <cstring>

#include "engine/runtime/device/context.h"
#include "engine/runtime/device/device.h"
#include "engine/runtime/error/guarded.h"
#include "engine/runtime/fault/faultable.h"
#include "engine/runtime/memory/allocation_map.h"
#include "engine/runtime/stream/stream.h"

namespace torch_aclnn::host {
namespace {

const char* const kKinds[] = {"ACL_MEMCPY_HOST_TO_HOST", "ACL_MEMCPY_HOST_TO_DEVICE", "ACL_MEMCPY_DEVICE_TO_HOST",
                              "ACL_MEMCPY_DEVICE_TO_DEVICE", "ACL_MEMCPY_DEFAULT"};

void require_count(const char* limit_name, size_t limit, size_t count) {
    if (count > limit) refuse(ACL_ERROR_RT_PARAM_INVALID, "count", text("at most ", limit_name, " (", limit, ")"), std::to_string(count));
}

// Device memory must hold the whole range. Nothing is known about other memory: it is the caller's.
void require_range(const char* parameter, const void* address, size_t count, const char* device_kind) {
    auto reach = device_memory().reach(address, count);
    if (!reach && device_kind != nullptr) reach = registered_memory().reach(address, count);
    if (!reach && device_kind != nullptr)
        refuse(ACL_ERROR_RT_PARAM_INVALID, parameter, text("device memory, as kind is ", device_kind),
               text(address, ", which is in no allocation of a device"));
    if (reach && *reach < count)
        refuse(ACL_ERROR_RT_PARAM_INVALID, parameter, text("device memory for count ", count),
               text(address, ", whose allocation goes on for ", *reach, " bytes"));
}

void require_copy(void* dst, size_t destMax, const void* src, size_t count, int kind) {
    require_pointer("dst", dst);
    require_pointer("src", src);
    if (kind < ACL_MEMCPY_HOST_TO_HOST || kind > ACL_MEMCPY_DEFAULT)
        refuse(ACL_ERROR_RT_PARAM_INVALID, "kind", "a value in 0..4", std::to_string(kind));
    require_count("destMax", destMax, count);
    const bool to_device = kind == ACL_MEMCPY_HOST_TO_DEVICE || kind == ACL_MEMCPY_DEVICE_TO_DEVICE;
    const bool from_device = kind == ACL_MEMCPY_DEVICE_TO_HOST || kind == ACL_MEMCPY_DEVICE_TO_DEVICE;
    require_range("dst", dst, count, to_device ? kKinds[kind] : nullptr);
    require_range("src", src, count, from_device ? kKinds[kind] : nullptr);
}

void require_fill(void* devPtr, size_t maxCount, size_t count) {
    require_pointer("devPtr", devPtr);
    require_count("maxCount", maxCount, count);
    require_range("devPtr", devPtr, count, nullptr);
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

// The synchronous forms wait for the current device's default stream, if the thread has a device, and report what failed on it.
void settle_default_stream() {
    if (current_device_index() < 0) return;
    Stream& stream = *current_device().default_stream();
    stream.wait(Stream::kForever);
    stream.report_failure();
}

}  // namespace
}  // namespace torch_aclnn::host

using namespace torch_aclnn::host;

extern "C" aclError aclrtMemcpy(void* dst, size_t destMax, const void* src, size_t count, aclrtMemcpyKind kind) {
    return traced(
        can_fail(__func__),
        [&] {
            require_copy(dst, destMax, src, count, kind);
            settle_default_stream();
            std::memmove(dst, src, count);
        },
        [&] { return call_arguments("dst", dst, "destMax", destMax, "src", src, "count", count, "kind", kind); });
}

extern "C" aclError aclrtMemcpyAsync(void* dst, size_t destMax, const void* src, size_t count, aclrtMemcpyKind kind, aclrtStream stream) {
    return traced(
        can_fail(__func__),
        [&] {
            require_copy(dst, destMax, src, count, kind);
            find_stream(stream)->submit(*new Copy(dst, src, count));
        },
        [&] { return call_arguments("dst", dst, "destMax", destMax, "src", src, "count", count, "kind", kind).on(stream); });
}

extern "C" aclError aclrtMemset(void* devPtr, size_t maxCount, int32_t value, size_t count) {
    return traced(
        can_fail(__func__),
        [&] {
            require_fill(devPtr, maxCount, count);
            settle_default_stream();
            std::memset(devPtr, value, count);
        },
        [&] { return call_arguments("devPtr", devPtr, "maxCount", maxCount, "value", value, "count", count); });
}

extern "C" aclError aclrtMemsetAsync(void* devPtr, size_t maxCount, int32_t value, size_t count, aclrtStream stream) {
    return traced(
        can_fail(__func__),
        [&] {
            require_fill(devPtr, maxCount, count);
            find_stream(stream)->submit(*new Fill(devPtr, value, count));
        },
        [&] { return call_arguments("devPtr", devPtr, "maxCount", maxCount, "value", value, "count", count).on(stream); });
}
