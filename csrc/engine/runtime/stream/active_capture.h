// The captures that have begun and not ended, as streams and copies know them; graph/ has what they record.
#pragma once

#include <mutex>

#include "engine/runtime/stream/recorder.h"
#include "engine/runtime/stream/task.h"

namespace torch_aclnn::host {

class ActiveCapture : public Recorder {
   public:
    virtual int device() const = 0;
    // Returns "the capture of stream 1 in ...".
    virtual std::string description() const = 0;
    // Whether a thread in that mode may not call an unsafe function.
    virtual bool forbids_unsafe(aclmdlRICaptureMode mode_of_thread) const = 0;
    virtual void fail(const char* function, int code, const std::string& message) = 0;
};

// The point at which an event was recorded in a capture.
class CapturedPoint {
   public:
    explicit CapturedPoint(int stream) : stream_(stream) {}
    virtual ~CapturedPoint() = default;
    int stream() const { return stream_; }  // its number
    // Has the stream wait for the event, and so join the capture.
    virtual void hold_up(const std::shared_ptr<Stream>& stream) const = 0;

   private:
    const int stream_;
};

// One lock guards all captures, because capturing need not be fast. The functions before it need the lock, and those below take it.
std::mutex& capture_mutex();
void add_capture(ActiveCapture& capture);
void remove_capture(ActiveCapture& capture);
bool is_active(const ActiveCapture& capture);

const char* name_of(aclmdlRICaptureMode mode);

// 107000 for the default stream of a device with a stream that is captured.
void require_no_capture_on(int device);
// 107027 if the device has a stream that is captured.
void require_device_waitable(int device);
// 107027 if nothing can wait for the stream, or the event, as a capture has it.
void require_waitable(const Stream& stream);
void require_waitable(const Event& event);
// 107030, and the capture fails, if one forbids the calling thread to call what is unsafe.
void require_unsafe_allowed(const char* what);
aclmdlRICaptureMode exchange_thread_mode(aclmdlRICaptureMode mode);

}  // namespace torch_aclnn::host
