#include "engine/runtime/stream/active_capture.h"

#include <utility>

#include "engine/runtime/error/guarded.h"
#include "engine/runtime/lasting.h"
#include "engine/runtime/stream/event.h"
#include "engine/runtime/stream/stream.h"

namespace torch_aclnn::host {
namespace {

const char* const kModeNames[] = {"ACL_MODEL_RI_CAPTURE_MODE_GLOBAL", "ACL_MODEL_RI_CAPTURE_MODE_THREAD_LOCAL",
                                  "ACL_MODEL_RI_CAPTURE_MODE_RELAXED"};

thread_local aclmdlRICaptureMode mode_of_thread = ACL_MODEL_RI_CAPTURE_MODE_GLOBAL;

// The list is never destroyed, because calls still come while the process exits.
struct Captures {
    std::mutex mutex;
    std::set<ActiveCapture*> all;
    std::atomic<size_t> count{0};  // read without the lock, because usually no capture is active

    void recount() { count.store(all.size(), std::memory_order_release); }
};

constexpr auto& captures = lasting<Captures>;

bool none_is_captured() {
    return captures().count.load(std::memory_order_acquire) == 0;
}

}  // namespace

std::mutex& capture_mutex() {
    return captures().mutex;
}

void add_capture(ActiveCapture& capture) {
    captures().all.insert(&capture);
    captures().recount();
}

void remove_capture(ActiveCapture& capture) {
    captures().all.erase(&capture);
    captures().recount();
}

bool is_active(const ActiveCapture& capture) {
    return captures().all.count(const_cast<ActiveCapture*>(&capture)) != 0;
}

const char* name_of(aclmdlRICaptureMode mode) {
    return kModeNames[mode];
}

void require_no_capture_on(int device) {
    if (none_is_captured()) return;
    const std::lock_guard<std::mutex> lock(capture_mutex());
    for (const ActiveCapture* capture : captures().all)
        if (capture->device() == device)
            refuse(ACL_ERROR_RT_PARAM_INVALID, "stream", text("another than the default stream during ", capture->description()),
                   "that one");
}

void require_device_waitable(int device) {
    if (none_is_captured()) return;
    const std::lock_guard<std::mutex> lock(capture_mutex());
    for (const ActiveCapture* capture : captures().all)
        if (capture->device() == device)
            refuse(ACL_ERROR_RT_STREAM_CAPTURED, "device", "one without a stream that is captured",
                   text("device ", device, " during ", capture->description()));
}

void require_waitable(const Stream& stream) {
    if (stream.is_default()) require_no_capture_on(stream.device());
    if (const auto recorder = stream.recorder(); recorder != nullptr && !recorder->is_waitable()) recorder->refuse_wait(stream);
}

void require_waitable(const Event& event) {
    if (const auto point = event.captured())
        refuse(ACL_ERROR_RT_STREAM_CAPTURED, "event", "one that was not recorded in a capture",
               text("one recorded on stream ", point->stream(), " while that was captured"));
}

void require_unsafe_allowed(const char* what) {
    if (none_is_captured()) return;
    const std::lock_guard<std::mutex> lock(capture_mutex());
    for (ActiveCapture* capture : captures().all) {
        if (!capture->forbids_unsafe(mode_of_thread)) continue;
        const std::string message = text(what, " are forbidden to this thread, whose mode is ", name_of(mode_of_thread), ", during ",
                                         capture->description(), " (aclmdlRICaptureThreadExchangeMode changes the thread's mode)");
        capture->fail(nullptr, ACL_ERROR_RT_CAPTURE_MODE_NOT_SUPPORT, message);
        throw Error(ACL_ERROR_RT_CAPTURE_MODE_NOT_SUPPORT, message);
    }
}

aclmdlRICaptureMode exchange_thread_mode(aclmdlRICaptureMode mode) {
    return std::exchange(mode_of_thread, mode);
}

void fail_capture(aclrtStream handle, const char* function, const std::exception& error) noexcept {
    if (none_is_captured()) return;
    try {
        const auto capture = std::dynamic_pointer_cast<ActiveCapture>(find_stream(handle)->recorder());
        if (capture == nullptr) return;
        const auto* const known = dynamic_cast<const Error*>(&error);
        const std::lock_guard<std::mutex> lock(capture_mutex());
        capture->fail(function, known != nullptr ? known->code() : ACL_ERROR_INTERNAL_ERROR, error.what());
    } catch (const std::exception&) {
        // A stream that is not live is not captured.
    }
}

}  // namespace torch_aclnn::host
