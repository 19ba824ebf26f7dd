// Copying and filling memory, now or in stream order.

#include <cstring>

#include "engine/runtime/call/faultable.h"
#include "engine/runtime/calling_thread.h"
#include "engine/runtime/config/config.h"
#include "engine/runtime/device/context.h"
#include "engine/runtime/device/device.h"
#include "engine/runtime/memory/device_memory.h"
#include "engine/runtime/memory/known_values.h"
#include "engine/runtime/memory/memory_range.h"
#include "engine/runtime/stream/active_capture.h"
#include "engine/runtime/stream/dry_run.h"
#include "engine/runtime/stream/stream.h"
#include "engine/runtime/stream/stream_order.h"

namespace torch_aclnn::host {
namespace {

constexpr size_t kKeptBytes = size_t{1} << 20;
constexpr size_t kMostRows = 5 * 1024 * 1024;  // documented of aclrtMemcpy2dAsync

struct Kind {
    const char* name;
    Side dst, src;
};
const Kind kKinds[] = {{"ACL_MEMCPY_HOST_TO_HOST", Side::host, Side::host},
                       {"ACL_MEMCPY_HOST_TO_DEVICE", Side::device, Side::host},
                       {"ACL_MEMCPY_DEVICE_TO_HOST", Side::host, Side::device},
                       {"ACL_MEMCPY_DEVICE_TO_DEVICE", Side::device, Side::device},
                       {"ACL_MEMCPY_DEFAULT", Side::any, Side::any}};

const Kind& find_kind(int kind) {
    if (kind < ACL_MEMCPY_HOST_TO_HOST || kind > ACL_MEMCPY_DEFAULT)
        refuse(ACL_ERROR_RT_PARAM_INVALID, "kind", "a value in 0..4", std::to_string(kind));
    return kKinds[kind];
}

void require_count(const char* limit_name, size_t limit, size_t count) {
    if (count > limit) refuse(ACL_ERROR_RT_PARAM_INVALID, "count", text("at most ", limit_name, " (", limit, ")"), std::to_string(count));
}

// Whether the bytes look like numbers of words or of experts, in 32 or 64 bits: the exponent of a float32 other than 0 makes its bits a
// larger number.
bool is_of_small_integers(const MemoryRange& range) {
    constexpr int32_t kMost = 1 << 23;
    int32_t word = 0;
    const auto* const bytes = static_cast<const char*>(range.view());
    for (size_t at = 0; at + sizeof(word) <= range.bytes(); at += sizeof(word)) {
        std::memcpy(&word, bytes + at, sizeof(word));
        if (word <= -kMost || word >= kMost) return false;
    }
    return true;
}

bool is_zero(const MemoryRange& range) {
    const auto* const bytes = static_cast<const char*>(range.view());
    return bytes[0] == 0 && std::memcmp(bytes, bytes + 1, range.bytes() - 1) == 0;
}

// Copies rows, of which each begins a pitch after the one before.
class Copy : public NamedTask {
   public:
    Copy(const char* name, const MemoryRange& dst, size_t dpitch, const MemoryRange& src, size_t spitch, size_t width)
        : NamedTask(name), dst_(dst), src_(src), dpitch_(dpitch), spitch_(spitch), width_(width) {}

    bool is_pageable() const { return dst_.is_pageable() || src_.is_pageable(); }

    std::vector<MemoryAccess> accesses() const override {
        std::vector<MemoryAccess> accesses;
        src_.add_access(accesses, false);
        dst_.add_access(accesses, true, dpitch_ > width_);
        return accesses;
    }

    Nature nature() const override {
        if (!dst_.is_device_memory() || src_.is_device_memory()) return Nature::other;
        if (src_.bytes() > config().known_bytes) return Nature::uploading;
        // Activations that a program keeps on the host have been written there as zeros, which take no memory on a device.
        if (src_.bytes() >= kKeptBytes && dpitch_ == width_ && is_zero(src_)) return Nature::zeroing;
        return is_of_small_integers(src_) ? Nature::other : Nature::uploading;
    }

    // memmove is used, because a copy onto itself is allowed on a device.
    void run() override {
        std::optional<MemoryUse> dst, src;
        if (runs_later()) {
            dst_.hold(dst);
            src_.hold(src);
        }
        auto* to = static_cast<char*>(dst_.view());
        const auto* from = static_cast<const char*>(src_.view());
        for (size_t offset = 0; offset < src_.bytes(); offset += spitch_, from += spitch_, to += dpitch_) std::memmove(to, from, width_);
    }

    // Unknown values read as 0. A large copy to page-locked memory counts as no read, because such memory keeps values, such as states of
    // optimizers.
    void skip() override {
        if (dst_.is_device_memory()) return;
        if (!dst_.is_pageable() && src_.bytes() >= kKeptBytes && dpitch_ == width_) return write_zeros(dst_.view(), dst_.bytes());
        note_value_read(src_.bytes());
        auto* to = static_cast<char*>(dst_.view());
        for (size_t offset = 0; offset < src_.bytes(); offset += spitch_, to += dpitch_) std::memset(to, 0, width_);
    }

   private:
    MemoryRange dst_, src_;
    size_t dpitch_, spitch_, width_;
};

Copy copy_of_bytes(const char* name, void* dst, size_t destMax, const void* src, size_t count, int kind) {
    require_pointer("dst", dst);
    require_pointer("src", src);
    const Kind& found = find_kind(kind);
    require_count("destMax", destMax, count);
    return {name, {"dst", dst, count, found.dst, found.name}, count, {"src", src, count, found.src, found.name}, count, count};
}

// Returns the bytes from the first row to the end of the last one.
size_t bytes_of_rows(const char* pitch_name, size_t pitch, size_t width, size_t height) {
    if (width > pitch) refuse(ACL_ERROR_RT_PARAM_INVALID, "width", text("at most ", pitch_name, " (", pitch, ")"), std::to_string(width));
    if (width == 0 || height == 0) return 0;
    size_t bytes = 0;
    if (__builtin_mul_overflow(height - 1, pitch, &bytes) || __builtin_add_overflow(bytes, width, &bytes))
        refuse(ACL_ERROR_RT_PARAM_INVALID, "height", "rows that fit into memory", text(height, ", ", pitch, " bytes apart"));
    return bytes;
}

Copy copy_of_rows(const char* name, void* dst, size_t dpitch, const void* src, size_t spitch, size_t width, size_t height, int kind) {
    require_pointer("dst", dst);
    require_pointer("src", src);
    if (kind != ACL_MEMCPY_HOST_TO_DEVICE && kind != ACL_MEMCPY_DEVICE_TO_HOST)
        refuse(ACL_ERROR_RT_PARAM_INVALID, "kind", "1 (host to device) or 2 (device to host)", std::to_string(kind));
    const Kind& found = find_kind(kind);
    const size_t dst_bytes = bytes_of_rows("dpitch", dpitch, width, height), src_bytes = bytes_of_rows("spitch", spitch, width, height);
    return {name, {"dst", dst, dst_bytes, found.dst, found.name}, dpitch, {"src", src, src_bytes, found.src, found.name}, spitch, width};
}

class Fill : public NamedTask {
   public:
    Fill(const char* name, void* memory, size_t maxCount, int value, size_t count)
        : NamedTask(name), memory_(checked(memory, maxCount, count)), value_(value) {}

    bool is_pageable() const { return memory_.is_pageable(); }

    std::vector<MemoryAccess> accesses() const override {
        std::vector<MemoryAccess> accesses;
        memory_.add_access(accesses, true);
        return accesses;
    }

    Nature nature() const override { return value_ == 0 && memory_.is_device_memory() ? Nature::zeroing : Nature::other; }

    void run() override {
        std::optional<MemoryUse> use;
        if (runs_later()) memory_.hold(use);
        std::memset(memory_.view(), value_, memory_.bytes());
    }

   private:
    static MemoryRange checked(void* memory, size_t maxCount, size_t count) {
        require_pointer("devPtr", memory);
        require_count("maxCount", maxCount, count);
        return {"devPtr", memory, count};
    }

    MemoryRange memory_;
    int value_;
};

// The synchronous forms wait for the current device's default stream, if the thread has a device, and report what failed on it.
void settle_default_stream() {
    if (current_device_index() < 0) return;
    Stream& stream = *default_stream_of(current_device());
    stream.wait(Stream::kForever);
    stream.report_failure();
}

void run_now(NamedTask&& work) {
    require_unsafe_allowed("synchronous copies and fills");
    settle_default_stream();
    order_program(work.name(), work.accesses());
    perform(work);
}

// A graph would copy the memory at each replay, when something else may be there.
void require_pageable_allowed(const Stream& stream) {
    require_unsafe_allowed("asynchronous copies and fills of memory that is not page-locked");
    if (stream.recorder() == nullptr) return;
    refuse(ACL_ERROR_RT_PARAM_INVALID, "dst and src", text("device memory or aclrtMallocHost's, as stream ", stream.id(), " is captured"),
           "memory that is not page-locked");
}

// Memory that is not page-locked may be changed or freed as soon as the call returns, so the work is over by then.
template <class MemoryWork>
void put_on(std::unique_ptr<MemoryWork> work, aclrtStream handle) {
    const auto stream = find_usable_stream(handle);
    const bool is_pageable = work->is_pageable();
    if (is_pageable) require_pageable_allowed(*stream);
    stream->submit(std::move(work));
    if (config().asynchronous && is_pageable) (void)stream->wait(Stream::kForever);
}

void launch(const char* function, aclrtStream stream, auto make) {
    try {
        put_on(make(), stream);
    } catch (const std::exception& error) {
        fail_capture(stream, function, error);
        throw;
    }
}

}  // namespace
}  // namespace torch_aclnn::host

using namespace torch_aclnn::host;

extern "C" aclError aclrtMemcpy(void* dst, size_t destMax, const void* src, size_t count, aclrtMemcpyKind kind) {
    return traced(can_fail(__func__), call_arguments("dst", dst, "destMax", destMax, "src", src, "count", count, "kind", kind),
                  [&] { run_now(copy_of_bytes("aclrtMemcpy", dst, destMax, src, count, kind)); });
}

extern "C" aclError aclrtMemcpyAsync(void* dst, size_t destMax, const void* src, size_t count, aclrtMemcpyKind kind, aclrtStream stream) {
    return traced(
        can_fail(__func__), call_arguments("dst", dst, "destMax", destMax, "src", src, "count", count, "kind", kind).on(stream), [&] {
            constexpr const char* kName = "aclrtMemcpyAsync";
            launch(kName, stream, [&] { return std::unique_ptr<Copy>(new Copy(copy_of_bytes(kName, dst, destMax, src, count, kind))); });
        });
}

extern "C" aclError aclrtMemcpy2d(void* dst, size_t dpitch, const void* src, size_t spitch, size_t width, size_t height,
                                  aclrtMemcpyKind kind) {
    return traced(
        can_fail(__func__),
        call_arguments("dst", dst, "dpitch", dpitch, "src", src, "spitch", spitch, "width", width, "height", height, "kind", kind),
        [&] { run_now(copy_of_rows("aclrtMemcpy2d", dst, dpitch, src, spitch, width, height, kind)); });
}

extern "C" aclError aclrtMemcpy2dAsync(void* dst, size_t dpitch, const void* src, size_t spitch, size_t width, size_t height,
                                       aclrtMemcpyKind kind, aclrtStream stream) {
    return traced(can_fail(__func__),
                  call_arguments("dst", dst, "dpitch", dpitch, "src", src, "spitch", spitch, "width", width, "height", height, "kind", kind)
                      .on(stream),
                  [&] {
                      constexpr const char* kName = "aclrtMemcpy2dAsync";
                      if (height > kMostRows)
                          refuse(ACL_ERROR_RT_PARAM_INVALID, "height", text("at most ", kMostRows), std::to_string(height));
                      launch(kName, stream, [&] {
                          return std::unique_ptr<Copy>(new Copy(copy_of_rows(kName, dst, dpitch, src, spitch, width, height, kind)));
                      });
                  });
}

extern "C" aclError aclrtMemset(void* devPtr, size_t maxCount, int32_t value, size_t count) {
    return traced(can_fail(__func__), call_arguments("devPtr", devPtr, "maxCount", maxCount, "value", value, "count", count),
                  [&] { run_now(Fill("aclrtMemset", devPtr, maxCount, value, count)); });
}

extern "C" aclError aclrtMemsetAsync(void* devPtr, size_t maxCount, int32_t value, size_t count, aclrtStream stream) {
    return traced(can_fail(__func__), call_arguments("devPtr", devPtr, "maxCount", maxCount, "value", value, "count", count).on(stream),
                  [&] {
                      constexpr const char* kName = "aclrtMemsetAsync";
                      launch(kName, stream, [&] { return std::make_unique<Fill>(kName, devPtr, maxCount, value, count); });
                  });
}
