// What keeps a stream's work in the place of its execution, while a graph is captured from the stream or a group of its tasks is updated.
#pragma once

namespace torch_aclnn::host {

class Event;
class Stream;
class Task;

class Recorder {
   public:
    virtual ~Recorder() = default;
    // Each throws an Error for work that cannot be kept.
    virtual void take(Stream& stream, Task& task) = 0;
    virtual void record(Stream& stream, Event& event) = 0;
    virtual void wait_for(Stream& stream, const Event& event) = 0;
    // 107027 for a call that cannot be made: work that is kept is never done, so nothing can wait for it or ask about it.
    virtual void refuse_wait(const Stream& stream) const = 0;
    // Whether the program may wait for what the stream did before.
    virtual bool is_waitable() const { return false; }
};

}  // namespace torch_aclnn::host
