#include "engine/runtime/graph/task_group.h"

#include <cstring>

#include "engine/runtime/error/guarded.h"
#include "engine/runtime/handle_table.h"
#include "engine/runtime/lasting.h"
#include "engine/runtime/stream/stream.h"

namespace torch_aclnn::host {
namespace {

constexpr auto& groups = lasting<HandleTable<TaskGroup>, HandleKind::task_group>;

// Replaces the tasks in stream order, because a replay may wait for the update.
class Replacement final : public NamedTask {
   public:
    Replacement(std::shared_ptr<Graph> graph, const std::vector<size_t>& steps, std::vector<std::shared_ptr<KeptTask>> tasks)
        : NamedTask("aclmdlRICaptureTaskUpdateEnd"), graph_(std::move(graph)), steps_(steps), tasks_(std::move(tasks)) {}

    void run() override {
        for (size_t i = 0; i < steps_.size(); ++i) graph_->replace(steps_[i], tasks_[i]);
    }

   private:
    const std::shared_ptr<Graph> graph_;
    const std::vector<size_t> steps_;
    const std::vector<std::shared_ptr<KeptTask>> tasks_;
};

std::shared_ptr<TaskUpdate> update_of(const Stream& stream) {
    auto update = std::dynamic_pointer_cast<TaskUpdate>(stream.recorder());
    if (update == nullptr)
        refuse(ACL_ERROR_RT_PARAM_INVALID, "stream", "the one of an aclmdlRICaptureTaskUpdateBegin",
               text("stream ", stream.id(), ", on which no update has begun"));
    return update;
}

}  // namespace

aclrtTaskGrp add_task_group(const std::shared_ptr<Graph>& graph, std::vector<size_t> steps) {
    const aclrtTaskGrp handle = groups().add(std::make_shared<TaskGroup>(TaskGroup{graph, std::move(steps)}));
    graph->add_group(handle);
    return handle;
}

void remove_task_groups(const Graph& graph) {
    for (const aclrtTaskGrp handle : graph.groups()) groups().remove(handle);
}

void require_operator(const Task& task) {
    const auto begins = [&](const char* with) { return std::strncmp(task.name(), with, std::strlen(with)) == 0; };
    if (!begins("aclrt") && !begins("aclmdl")) return;
    throw Error(ACL_ERROR_API_NOT_SUPPORT, text("a group of tasks has operators only: expected one, got ", task.name()));
}

TaskUpdate::TaskUpdate(std::shared_ptr<Graph> graph, std::vector<size_t> steps) : graph_(std::move(graph)), steps_(std::move(steps)) {}

void TaskUpdate::begin(Stream& stream, aclrtTaskGrp handle) {
    require_pointer("handle", handle);
    const auto group = groups().find(handle);
    const auto graph = group == nullptr ? nullptr : group->graph.lock();
    if (graph == nullptr) refuse(ACL_ERROR_RT_INVALID_HANDLE, "handle", "a group of tasks of a live graph", text(handle));
    if (!graph->is_complete())
        refuse(ACL_ERROR_RT_PARAM_INVALID, "handle", "a group of a graph whose capture has ended", text("one of graph ", graph->id()));
    if (const auto recorder = stream.recorder()) recorder->refuse_wait(stream);
    if (stream.device() != graph->device())
        refuse(ACL_ERROR_RT_PARAM_INVALID, "stream", text("one of device ", graph->device(), " like the graph"),
               text("one of device ", stream.device()));
    stream.set_recorder(std::shared_ptr<TaskUpdate>(new TaskUpdate(graph, group->steps)));
}

void TaskUpdate::end(Stream& stream) {
    const auto update = update_of(stream);
    stream.set_recorder(nullptr);
    if (update->tasks_.size() != update->steps_.size())
        refuse(ACL_ERROR_RT_PARAM_INVALID, "stream", text("an update of ", update->steps_.size(), " tasks, as many as the group has"),
               text(update->tasks_.size()));
    auto replacement = std::make_unique<Replacement>(update->graph_, update->steps_, std::move(update->tasks_));
    stream.submit(std::move(replacement));
}

void TaskUpdate::take(Stream&, Task& task) {
    require_operator(task);
    const size_t place = tasks_.size();
    if (place == steps_.size())
        throw Error(ACL_ERROR_RT_PARAM_INVALID,
                    text("the group has ", place, " tasks: expected aclmdlRICaptureTaskUpdateEnd, got ", task.name()));
    const char* const expected = graph_->task_of(steps_[place])->task->name();
    if (std::strcmp(expected, task.name()) != 0)
        throw Error(ACL_ERROR_RT_PARAM_INVALID, text("task ", place, " of the group: expected ", expected, ", got ", task.name()));
    auto kept = std::make_shared<KeptTask>();
    task.keep();
    tasks_.push_back(kept);
    kept->task = &task;
}

void TaskUpdate::refuse_other(const Stream& stream, const char* what) {
    refuse(ACL_ERROR_RT_PARAM_INVALID, "stream", text("one without an update of tasks, which has no ", what),
           text("stream ", stream.id(), ", on which an update has begun"));
}

void TaskUpdate::record(Stream& stream, Event&) {
    refuse_other(stream, "events");
}
void TaskUpdate::wait_for(Stream& stream, const Event&) {
    refuse_other(stream, "events");
}
void TaskUpdate::refuse_wait(const Stream& stream) const {
    refuse_other(stream, "waits");
}

}  // namespace torch_aclnn::host
