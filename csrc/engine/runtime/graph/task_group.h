// Tasks of a graph that can be replaced by others of the same kind, which are launched with other arguments.
#pragma once

#include "engine/runtime/graph/graph.h"
#include "engine/runtime/stream/recorder.h"

namespace torch_aclnn::host {

struct TaskGroup {
    std::weak_ptr<Graph> graph;
    std::vector<size_t> steps;
};

aclrtTaskGrp add_task_group(const std::shared_ptr<Graph>& graph, std::vector<size_t> steps);
void remove_task_groups(const Graph& graph);

// 200001 unless the task is an operator: copies, fills and the program's own functions have no arguments that could be updated.
void require_operator(const Task& task);

// Keeps what is launched on a stream between aclmdlRICaptureTaskUpdateBegin and aclmdlRICaptureTaskUpdateEnd.
class TaskUpdate final : public Recorder {
   public:
    static void begin(Stream& stream, aclrtTaskGrp group);
    static void end(Stream& stream);

    void take(Stream& stream, Task& task) override;
    void record(Stream& stream, Event& event) override;
    void wait_for(Stream& stream, const Event& event) override;
    void refuse_wait(const Stream& stream) const override;
    // torch_npu waits after each operator where launches block.
    bool is_waitable() const override { return true; }

   private:
    TaskUpdate(std::shared_ptr<Graph> graph, std::vector<size_t> steps);
    [[noreturn]] static void refuse_other(const Stream& stream, const char* what);

    const std::shared_ptr<Graph> graph_;
    const std::vector<size_t> steps_;
    std::vector<std::shared_ptr<KeptTask>> tasks_;
};

}  // namespace torch_aclnn::host
