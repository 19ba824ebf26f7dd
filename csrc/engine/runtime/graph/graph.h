// Work that was captured from streams, and is done again with each replay.
#pragma once

#include <atomic>
#include <mutex>
#include <string_view>
#include <utility>

#include "acl/acl_mdl.h"
#include "engine/runtime/stream/task.h"

namespace torch_aclnn::host {

class Stream;
class Condition;

// A task that a graph has, or had: it is finished when nothing needs it any more.
struct KeptTask {
    KeptTask() = default;
    KeptTask(const KeptTask&) = delete;
    ~KeptTask() {
        if (task != nullptr) task->finish();
    }
    Task* task = nullptr;
    std::recursive_mutex running;  // two replays may run at once
};

// The steps are in the order in which they were captured, which fulfils what the events between the streams demand; a replay does them in
// this order on one stream. TORCH_ACLNN_HOST_MODE=check_streams goes by the streams that they were captured from, and finds uses of memory
// that only this order keeps apart.
class Graph : public std::enable_shared_from_this<Graph> {
   public:
    enum class StepKind { task, record, wait };
    struct Step {
        StepKind kind;
        int stream;    // the graph's streams are numbered from 0
        size_t point;  // the number of the record that it is, or waits for
        std::shared_ptr<KeptTask> task;
    };

    explicit Graph(int device);

    uint32_t id() const { return id_; }
    int device() const { return device_; }
    std::string name() const;
    void set_name(std::string_view name);

    // Adds a stream to a graph that is not complete. The first one is that with which the capture began.
    int add_stream();
    // Takes the task, and returns the number of the step. If it throws, the task has not been taken.
    size_t add_task(int stream, Task& task);
    size_t add_record(int stream);
    void add_wait(int stream, size_t point);
    void complete() { is_complete_.store(true, std::memory_order_release); }

    bool is_complete() const { return is_complete_.load(std::memory_order_acquire); }
    void replay(Stream& stream);
    // Runs all steps on the calling thread, for a branch that a conditional task takes. A branch that was not captured has none.
    void run_steps() const;
    std::vector<MemoryAccess> accesses() const;
    const std::vector<Step>& steps() const { return steps_; }
    // Returns a stream's number, as messages have it.
    int stream_number(int stream) const { return streams_[static_cast<size_t>(stream)]; }
    std::shared_ptr<KeptTask> task_of(size_t step) const;
    // Replaces the task of a step. The new one runs from the step's next turn on.
    void replace(size_t step, std::shared_ptr<KeptTask> task);

    // Begins the capture of a branch of a conditional task. Returns false if it is no branch, or its capture has begun.
    bool begin_branch() { return is_free_branch_.exchange(false); }
    friend aclmdlRI add_branch(Graph& graph, const std::shared_ptr<Graph>& branch);
    const std::vector<aclmdlRI>& branches() const { return branch_handles_; }
    void add_condition(std::shared_ptr<const Condition> condition) { conditions_.push_back(std::move(condition)); }

    void add_group(aclrtTaskGrp group) { groups_.push_back(group); }
    const std::vector<aclrtTaskGrp>& groups() const { return groups_; }

   private:
    bool waits() const;

    const uint32_t id_;
    const int device_;
    std::atomic<bool> is_complete_{false};
    std::vector<Step> steps_;
    std::vector<int> streams_;
    size_t points_ = 0;
    bool waits_ = false;  // whether it has a WaitingTask
    std::vector<aclrtTaskGrp> groups_;
    std::atomic<bool> is_free_branch_{false};
    std::vector<std::shared_ptr<Graph>> branches_;
    std::vector<aclmdlRI> branch_handles_;
    std::vector<std::shared_ptr<const Condition>> conditions_;
    mutable std::mutex tasks_mutex_;  // guards the complete graph's tasks and its name
    std::string name_;
};

aclmdlRI add_graph(std::shared_ptr<Graph> graph);
// Adds a branch as a graph of its own, which is removed with the other graph.
aclmdlRI add_branch(Graph& graph, const std::shared_ptr<Graph>& branch);
// Removes the graph with its branches, and the handles of its task groups and conditions.
void remove_graph(aclmdlRI handle);
// 107017 unless the handle is live; 107000 if it is still being captured.
std::shared_ptr<Graph> find_graph(aclmdlRI handle);
std::shared_ptr<Graph> find_complete_graph(aclmdlRI handle);

}  // namespace torch_aclnn::host
