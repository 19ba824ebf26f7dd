// Work for streams.
#pragma once

#include <exception>
#include <vector>

#include "acl/acl.h"
#include "engine/runtime/calling_thread.h"
#include "engine/runtime/diagnostics/call_stack.h"
#include "engine/runtime/memory/device_memory.h"

namespace torch_aclnn::host {

class Stream;

// A choice of a few columns of a matrix for each of its rows, as a router of experts makes it. A dry run does not know the numbers of the
// matrix, so it takes every column to be chosen equally often; the sizes that follow from the choice are then known, as a rule.
// Where rows are then chosen for each column, as many as an expert may have, they are those that have chosen the column.
struct Choice {
    void* numbers;  // numbers of the columns, `chosen` for each row
    size_t number_bytes;
    int64_t rows, chosen, columns;
    bool is_of_rows = false;  // `chosen` for each column

    size_t bytes() const { return static_cast<size_t>((is_of_rows ? columns : rows) * chosen) * number_bytes; }
};

bool is_known(const Choice& choice);

// Writes such a choice. TORCH_ACLNN_HOST_EXPERT_LOAD says how many times as often as on average the first half of the columns is chosen.
void choose_evenly(const Choice& choice);

// Adds a finding, with the line of Python that the calling thread is at.
void note_assumption(const char* what);

// One unit of work on a stream. The stream calls run() once, in order, then finish() once, whatever run() did. A graph that keeps it calls
// run() once for each replay.
class TORCH_ACLNN_HOST_API Task {
   public:
    Task() : origin_(thread_number()), asked_at_(CallStack::for_streams()) {}
    virtual ~Task() = default;

    // Returns the thread that asked for the work; another one may hand it to the stream.
    uint64_t origin() const { return origin_; }
    // Returns the stack of that thread with TORCH_ACLNN_HOST_MODE=check_streams; else null.
    const std::shared_ptr<const CallStack>& asked_at() const { return asked_at_; }
    virtual const char* name() const = 0;  // must outlive the task: messages begin with it
    // Called with TORCH_ACLNN_HOST_MODE=check_streams at the launch of the task, and in a dry run when it would run.
    virtual std::vector<MemoryAccess> accesses() const { return {}; }
    // What a dry run has to know of a task: whether it draws random numbers, copies other than integers from the host, writes zeros, has a
    // result whose size its values decide, chooses columns of a matrix, joins vectors, combines BOOL, of which one operand may decide the
    // result, is true or false of all finite values, or computes floating-point numbers.
    enum class Nature {
        other,
        drawing,
        uploading,
        zeroing,
        packing,
        choosing,
        joining,
        disjunction,
        conjunction,
        equality,
        inequality,
        floating
    };
    virtual Nature nature() const { return Nature::other; }
    // Returns what a dry run may take the result for if it does not know the values.
    virtual std::optional<Choice> choice() const { return std::nullopt; }
    // Called in place of run() if a dry run does not compute the task.
    virtual void skip() {}
    virtual void run() = 0;  // may throw an Error, whose code is kept; any other exception is ACL_ERROR_RT_AICORE_EXCEPTION
    virtual void finish() noexcept = 0;
    // Called before a graph takes the task, whose resources must stay until finish(). Throws an Error if they cannot.
    virtual void keep() {}
    // This is called in place of run() for each replay of a graph. It puts work on the stream that another thread does, and returns true;
    // false if the stream is to call run().
    virtual bool put_on(Stream&) { return false; }

   private:
    const uint64_t origin_;
    const std::shared_ptr<const CallStack> asked_at_;
};

// A task whose name is given, and which the stream deletes.
class NamedTask : public Task {
   public:
    explicit NamedTask(const char* name) : name_(name) {}
    const char* name() const override { return name_; }
    void finish() noexcept override { delete this; }

   private:
    const char* const name_;
};

// Work that waits, such as until a word of device memory has some value. A thread of the stream's own runs it, also without
// TORCH_ACLNN_HOST_MODE=async, because what it waits for may come from the program.
class WaitingTask : public NamedTask {
   public:
    using NamedTask::NamedTask;
};

// Returns true where a task runs after the program has gone on, which may have freed the task's memory meanwhile.
TORCH_ACLNN_HOST_API bool runs_later() noexcept;

// Hands the task to the stream (null: the device's default stream). If it throws, an Error, the task has not been taken.
TORCH_ACLNN_HOST_API void enqueue(aclrtStream stream, Task& task);
// Hands the task to the stream, and returns when the stream has come to its end.
TORCH_ACLNN_HOST_API void enqueue_and_wait(aclrtStream stream, Task& task);

// Tells of a call that failed and was to put work on the stream. If the stream is captured, its graph would lack that work, so the capture
// fails.
TORCH_ACLNN_HOST_API void fail_capture(aclrtStream stream, const char* function, const std::exception& error) noexcept;

}  // namespace torch_aclnn::host
