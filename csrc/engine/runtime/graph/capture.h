// The capture of a graph: the streams that take part, how far each has come, and what made it fail.
#pragma once

#include <map>
#include <memory>
#include <optional>

#include "engine/runtime/graph/graph.h"
#include "engine/runtime/stream/recorder.h"
#include "engine/runtime/stream/stream_clock.h"

namespace torch_aclnn::host {

class Capture;

// Where an event was recorded that was recorded in a capture.
struct CapturedPoint {
    std::weak_ptr<Capture> capture;
    size_t point;  // of the graph
    int stream;    // its number
    StreamClock clock;
};

// One lock guards all captures: capturing is no matter of speed.
class Capture final : public Recorder, public std::enable_shared_from_this<Capture> {
   public:
    // Each of these is one C function.
    static void begin(const std::shared_ptr<Stream>& origin, aclmdlRICaptureMode mode);
    static aclmdlRI end(Stream& stream);
    static void begin_group(Stream& stream);
    static aclrtTaskGrp end_group(Stream& stream);
    // The capture that the stream takes part in, or null.
    static std::shared_ptr<Capture> of(const Stream& stream);
    // Has the stream wait for an event that was recorded in a capture, which it joins.
    static void wait_for_captured(const std::shared_ptr<Stream>& stream, const CapturedPoint& point);

    aclmdlRI graph() const { return handle_; }
    int device() const { return graph_->device(); }
    aclmdlRICaptureStatus status() const;
    // With the calling thread in its mode, an unsafe function cannot be called.
    bool forbids_unsafe(aclmdlRICaptureMode mode_of_thread) const;
    void fail(const char* function, int code, const std::string& message);
    std::string description() const;

    void take(Stream& stream, Task& task) override;
    void record(Stream& stream, Event& event) override;
    void wait_for(Stream& stream, const Event& event) override;
    void refuse_deferred(Stream& stream, const char* name) override;
    void refuse_wait(const Stream& stream) const override;

   private:
    // A stream that takes part.
    struct Member {
        std::shared_ptr<Stream> stream;
        int number;  // of the graph
        StreamClock clock;
        std::optional<std::vector<size_t>> group;  // the steps since aclmdlRICaptureTaskGrpBegin
    };

    Capture(const std::shared_ptr<Stream>& origin, aclmdlRICaptureMode mode);

    Member& join(const std::shared_ptr<Stream>& stream);
    Member& member(const Stream& stream);
    void require_valid() const;
    [[noreturn]] void fail_and_throw(const Error& error);
    void require_end(const Stream& stream);
    void require_all_joined();
    void release_streams();

    const std::shared_ptr<Stream> origin_;
    const aclmdlRICaptureMode mode_;
    const uint64_t thread_;
    const std::shared_ptr<Graph> graph_;
    aclmdlRI handle_ = nullptr;
    std::map<int, Member> members_;  // by the stream's id
    std::optional<Error> failure_;   // with what made it fail
};

// 107000 for the default stream of a device of which a stream is captured.
void require_no_capture_on(int device);
// 107027 if the device has a stream that is captured.
void require_device_waitable(int device);
// 107027 if nothing can wait for the stream, or the event, as a capture has it.
void require_waitable(const Stream& stream);
void require_waitable(const Event& event);
// 107030, and the capture fails, if one forbids the calling thread to call what is unsafe.
void require_unsafe_allowed(const char* what);
// Returns the thread's former mode.
aclmdlRICaptureMode exchange_thread_mode(aclmdlRICaptureMode mode);

}  // namespace torch_aclnn::host
