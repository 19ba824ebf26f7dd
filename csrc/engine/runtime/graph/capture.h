// The capture of a graph: the streams that take part, how far each has come, and what made it fail.
#pragma once

#include "engine/runtime/error/error.h"
#include "engine/runtime/graph/graph.h"
#include "engine/runtime/stream/active_capture.h"
#include "engine/runtime/stream/stream_clock.h"

namespace torch_aclnn::host {

class Capture;

class RecordedPoint;

// 107000 for a number that is no mode.
aclmdlRICaptureMode require_capture_mode(int mode);

class Capture final : public ActiveCapture, public std::enable_shared_from_this<Capture> {
   public:
    // Each of these is one C function.
    static void begin(const std::shared_ptr<Stream>& origin, aclmdlRICaptureMode mode);
    static void begin_branch(const std::shared_ptr<Stream>& origin, aclmdlRI handle, aclmdlRICaptureMode mode);
    static aclmdlRI end(Stream& stream);
    static void begin_group(Stream& stream);
    static aclrtTaskGrp end_group(Stream& stream);
    // Returns the capture that the stream takes part in, or null.
    static std::shared_ptr<Capture> of(const Stream& stream);
    // Has the stream wait for an event that was recorded in a capture, which it joins.
    static void wait_for_recorded(const std::shared_ptr<Stream>& stream, const RecordedPoint& point);

    aclmdlRI graph() const { return handle_; }
    int device() const override { return graph_->device(); }
    aclmdlRICaptureStatus status() const;
    bool forbids_unsafe(aclmdlRICaptureMode mode_of_thread) const override;
    void fail(const char* function, int code, const std::string& message) override;
    std::string description() const override;

    void take(Stream& stream, Task& task) override;
    void record(Stream& stream, Event& event) override;
    void wait_for(Stream& stream, const Event& event) override;
    void refuse_wait(const Stream& stream) const override;

   private:
    // A stream that takes part in the capture.
    struct Member {
        std::shared_ptr<Stream> stream;
        int number;  // the point in the graph that the record made
        StreamClock clock;
        std::optional<std::vector<size_t>> group;  // the steps since aclmdlRICaptureTaskGrpBegin
    };

    Capture(const std::shared_ptr<Stream>& origin, aclmdlRICaptureMode mode, std::shared_ptr<Graph> graph);
    static void begin_into(std::shared_ptr<Graph> graph, aclmdlRI handle, const std::shared_ptr<Stream>& origin, aclmdlRICaptureMode mode);

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
    std::map<int, Member> members_;  // by the stream's number
    std::optional<Error> failure_;   // the error that made it fail
};

class RecordedPoint final : public CapturedPoint {
   public:
    RecordedPoint(std::weak_ptr<Capture> capture, size_t point, int stream, const StreamClock& clock)
        : CapturedPoint(stream), capture(std::move(capture)), point(point), clock(clock) {}
    void hold_up(const std::shared_ptr<Stream>& stream) const override { Capture::wait_for_recorded(stream, *this); }

    const std::weak_ptr<Capture> capture;
    const size_t point;  // the point of the graph
    const StreamClock clock;
};

}  // namespace torch_aclnn::host
