#include "engine/runtime/graph/capture.h"

#include "engine/runtime/calling_thread.h"
#include "engine/runtime/error/guarded.h"
#include "engine/runtime/graph/task_group.h"
#include "engine/runtime/stream/event.h"
#include "engine/runtime/stream/stream.h"

namespace torch_aclnn::host {

static std::string name_of(const Stream& stream) {
    return text("stream ", stream.id());
}

static Capture& require_captured(const std::shared_ptr<Capture>& capture, const Stream& stream) {
    if (capture == nullptr) refuse(ACL_ERROR_RT_PARAM_INVALID, "stream", "one that is captured", text(name_of(stream), ", which is not"));
    return *capture;
}

static void require_recordable(const Stream& stream) {
    if (stream.is_default())
        refuse(ACL_ERROR_RT_PARAM_INVALID, "stream", "one from aclrtCreateStream",
               text("the default stream of device ", stream.device(), ", which cannot be captured"));
    if (const auto recorder = stream.recorder()) recorder->refuse_wait(stream);
}

aclmdlRICaptureMode require_capture_mode(int mode) {
    if (mode < ACL_MODEL_RI_CAPTURE_MODE_GLOBAL || mode > ACL_MODEL_RI_CAPTURE_MODE_RELAXED)
        refuse(ACL_ERROR_RT_PARAM_INVALID, "mode", "a value in 0..2", std::to_string(mode));
    return static_cast<aclmdlRICaptureMode>(mode);
}

Capture::Capture(const std::shared_ptr<Stream>& origin, aclmdlRICaptureMode mode, std::shared_ptr<Graph> graph)
    : origin_(origin), mode_(mode), thread_(thread_number()), graph_(std::move(graph)) {}

void Capture::begin(const std::shared_ptr<Stream>& origin, aclmdlRICaptureMode mode) {
    const std::lock_guard<std::mutex> lock(capture_mutex());
    require_recordable(*origin);
    auto graph = std::make_shared<Graph>(origin->device());
    const aclmdlRI handle = add_graph(graph);
    begin_into(std::move(graph), handle, origin, mode);
}

void Capture::begin_branch(const std::shared_ptr<Stream>& origin, aclmdlRI handle, aclmdlRICaptureMode mode) {
    const std::lock_guard<std::mutex> lock(capture_mutex());
    auto graph = find_graph(handle);
    require_recordable(*origin);
    if (origin->device() != graph->device())
        refuse(ACL_ERROR_RT_PARAM_INVALID, "stream", text("one of device ", graph->device(), " like the graph"),
               text(name_of(*origin), " of device ", origin->device()));
    if (!graph->begin_branch())
        refuse(ACL_ERROR_RT_PARAM_INVALID, "modelRI", "a branch of a conditional task that was not captured yet",
               text("graph ", graph->id()));
    begin_into(std::move(graph), handle, origin, mode);
}

void Capture::begin_into(std::shared_ptr<Graph> graph, aclmdlRI handle, const std::shared_ptr<Stream>& origin, aclmdlRICaptureMode mode) {
    const std::shared_ptr<Capture> capture(new Capture(origin, mode, std::move(graph)));
    capture->join(origin);
    capture->handle_ = handle;
    add_capture(*capture);
}

std::shared_ptr<Capture> Capture::of(const Stream& stream) {
    return std::dynamic_pointer_cast<Capture>(stream.recorder());
}

aclmdlRI Capture::end(Stream& stream) {
    const auto capture = of(stream);
    const std::lock_guard<std::mutex> lock(capture_mutex());
    require_captured(capture, stream).require_end(stream);
    capture->release_streams();
    remove_capture(*capture);
    try {
        capture->require_valid();
        capture->require_all_joined();
    } catch (...) {
        remove_graph(capture->handle_);
        throw;
    }
    capture->graph_->complete();
    return capture->handle_;
}

void Capture::require_end(const Stream& stream) {
    if (&stream != origin_.get())
        refuse(ACL_ERROR_RT_PARAM_INVALID, "stream", text("the one that the capture began with, ", name_of(*origin_)),
               text(name_of(stream), ", which joined it"));
    if (mode_ != ACL_MODEL_RI_CAPTURE_MODE_RELAXED && thread_ != thread_number())
        refuse(ACL_ERROR_RT_PARAM_INVALID, "calling thread", text("the one that began ", description()), "another one");
}

void Capture::require_all_joined() {
    const StreamClock& end = member(*origin_).clock;
    for (const auto& [id, member] : members_) {
        if (member.group)
            throw Error(ACL_ERROR_RT_PARAM_INVALID, text("stream ", id, " has a group of tasks without its aclmdlRICaptureTaskGrpEnd"));
        if (end.of(member.number) >= member.clock.of(member.number)) continue;
        throw Error(ACL_ERROR_RT_STREAM_UNJOINED,
                    text("stream ", id, " joined the capture and ", name_of(*origin_),
                         " did not wait for its work: expected an event recorded on it after its last task, and a wait for that event"));
    }
}

void Capture::release_streams() {
    for (const auto& entry : members_) entry.second.stream->set_recorder(nullptr);
}

aclmdlRICaptureStatus Capture::status() const {
    const std::lock_guard<std::mutex> lock(capture_mutex());
    return failure_ ? ACL_MODEL_RI_CAPTURE_STATUS_INVALIDATED : ACL_MODEL_RI_CAPTURE_STATUS_ACTIVE;
}

std::string Capture::description() const {
    return text("the capture of ", name_of(*origin_), " in ", name_of(mode_));
}

bool Capture::forbids_unsafe(aclmdlRICaptureMode mode) const {
    const bool is_mine = thread_ == thread_number();
    if (is_mine) return mode_ != ACL_MODEL_RI_CAPTURE_MODE_RELAXED && mode != ACL_MODEL_RI_CAPTURE_MODE_RELAXED;
    return mode_ == ACL_MODEL_RI_CAPTURE_MODE_GLOBAL && mode == ACL_MODEL_RI_CAPTURE_MODE_GLOBAL;
}

void Capture::fail(const char* function, int code, const std::string& message) {
    if (!failure_) failure_.emplace(code, message, function);
}

void Capture::require_valid() const {
    if (!failure_) return;
    const std::string where = failure_->function() == nullptr ? "" : text(" in ", failure_->function());
    throw Error(failure_->code(), text(description(), " failed", where, ": ", failure_->what()));
}

void Capture::fail_and_throw(const Error& error) {
    fail(nullptr, error.code(), error.what());
    throw error;
}

Capture::Member& Capture::join(const std::shared_ptr<Stream>& stream) {
    const auto added = members_.emplace(stream->id(), Member{stream, graph_->add_stream(), {}, {}});
    stream->set_recorder(shared_from_this());
    return added.first->second;
}

Capture::Member& Capture::member(const Stream& stream) {
    return members_.at(stream.id());
}

// A graph that lacks a task would not be what the program captured.
void Capture::take(Stream& stream, Task& task) {
    const std::lock_guard<std::mutex> lock(capture_mutex());
    require_valid();
    Member& place = member(stream);
    try {
        if (place.group) require_operator(task);
        if (place.group) place.group->reserve(place.group->size() + 1);
        const size_t step = graph_->add_task(place.number, task);
        place.clock.advance(place.number);
        if (place.group) place.group->push_back(step);
    } catch (const Error& error) {
        fail(task.name(), error.code(), error.what());
        throw;
    }
}

void Capture::record(Stream& stream, Event& event) {
    const std::lock_guard<std::mutex> lock(capture_mutex());
    require_valid();
    const Member& place = member(stream);
    event.capture(std::make_shared<RecordedPoint>(weak_from_this(), graph_->add_record(place.number), stream.id(), place.clock));
}

void Capture::wait_for(Stream& stream, const Event&) {
    const std::lock_guard<std::mutex> lock(capture_mutex());
    fail_and_throw(Error(ACL_ERROR_RT_PARAM_INVALID, text("event: expected one recorded in ", description(), ", which ", name_of(stream),
                                                          " takes part in, got one recorded before or outside of it")));
}

void Capture::wait_for_recorded(const std::shared_ptr<Stream>& stream, const RecordedPoint& point) {
    const auto capture = point.capture.lock();
    const auto own = of(*stream);
    const std::lock_guard<std::mutex> lock(capture_mutex());
    if (capture == nullptr || !is_active(*capture)) {
        const Error error(ACL_ERROR_RT_PARAM_INVALID, text("event: expected one that was recorded, got one recorded on stream ",
                                                           point.stream(), " in a capture that has ended; a replay does not record it"));
        if (own != nullptr) own->fail_and_throw(error);
        throw error;
    }
    capture->require_valid();
    if (own != nullptr && own != capture)
        own->fail_and_throw(Error(ACL_ERROR_RT_PARAM_INVALID, text("event: expected one recorded in ", own->description(),
                                                                   ", got one recorded in ", capture->description())));
    if (own == nullptr) {
        require_recordable(*stream);
        if (stream->device() != capture->device())
            refuse(ACL_ERROR_RT_PARAM_INVALID, "stream", text("one of device ", capture->device(), ", of which the event's capture is"),
                   text(name_of(*stream), " of device ", stream->device()));
    }
    Member& place = own == nullptr ? capture->join(stream) : capture->member(*stream);
    capture->graph_->add_wait(place.number, point.point);
    place.clock.merge(point.clock);
    place.clock.advance(place.number);
}

void Capture::refuse_wait(const Stream& stream) const {
    refuse(ACL_ERROR_RT_STREAM_CAPTURED, "stream", "one that is not captured", text(name_of(stream), " in ", description()));
}

void Capture::begin_group(Stream& stream) {
    const auto capture = of(stream);
    const std::lock_guard<std::mutex> lock(capture_mutex());
    require_captured(capture, stream).require_valid();
    Member& place = capture->member(stream);
    if (place.group)
        refuse(ACL_ERROR_RT_PARAM_INVALID, "stream", "one without an open group of tasks", text(name_of(stream), ", which has one"));
    place.group.emplace();
}

aclrtTaskGrp Capture::end_group(Stream& stream) {
    const auto capture = of(stream);
    const std::lock_guard<std::mutex> lock(capture_mutex());
    require_captured(capture, stream).require_valid();
    Member& place = capture->member(stream);
    if (!place.group)
        refuse(ACL_ERROR_RT_PARAM_INVALID, "stream", "one with an open group of tasks", text(name_of(stream), ", which has none"));
    const aclrtTaskGrp group = add_task_group(capture->graph_, std::move(*place.group));
    place.group.reset();
    return group;
}

}  // namespace torch_aclnn::host
