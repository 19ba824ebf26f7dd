#include "engine/runtime/graph/graph.h"

#include "engine/runtime/diagnostics/leaks.h"
#include "engine/runtime/error/guarded.h"
#include "engine/runtime/graph/condition.h"
#include "engine/runtime/graph/task_group.h"
#include "engine/runtime/handle_table.h"
#include "engine/runtime/lasting.h"
#include "engine/runtime/memory/device_memory.h"
#include "engine/runtime/stream/stream.h"
#include "engine/runtime/stream/stream_order.h"

namespace torch_aclnn::host {
namespace {

thread_local bool replaying = false;

uint32_t next_id() {
    static std::atomic<uint32_t> newest{0};
    return newest.fetch_add(1, std::memory_order_relaxed) + 1;
}

constexpr auto& graphs = lasting<HandleTable<Graph>, HandleKind::graph>;

void list_leaked_graphs(LeakList& list) {
    graphs().for_each([&](const void* handle, const Graph& graph) {
        list.add("destroyed", text("graph of device ", graph.device()),
                 text("graph ", handle, ", ", graph.id(), " of device ", graph.device()));
    });
}
const bool leaked_graphs_are_listed = (add_leak_report(list_leaked_graphs), true);

// While one lives, the calling thread runs a task of a graph; there are several, one within the other, if the program's own function
// replays a graph.
class Replaying {
   public:
    Replaying() : before_(std::exchange(replaying, true)) {}
    Replaying(const Replaying&) = delete;
    ~Replaying() { replaying = before_; }

   private:
    const bool before_;
};

void call(KeptTask& kept, void (Task::*function)()) {
    const std::lock_guard<std::recursive_mutex> lock(kept.running);
    const Replaying here;
    (kept.task->*function)();
}

// Work that another thread does comes after the work of the graph's stream so far, and before what follows there.
bool put_on(Stream& stream, int number, Task& task) {
    order_after(stream.id(), order_so_far(number));
    if (!task.put_on(stream)) return false;
    order_after(number, order_so_far(stream.id()));
    return true;
}

// Sets the values of the conditions that begin each execution anew.
class BeginExecution final : public NamedTask {
   public:
    explicit BeginExecution(std::vector<std::shared_ptr<const Condition>> conditions)
        : NamedTask("aclmdlRIExecuteAsync"), conditions_(std::move(conditions)) {}
    void run() override {
        for (const auto& condition : conditions_) condition->begin_execution();
    }

   private:
    const std::vector<std::shared_ptr<const Condition>> conditions_;
};

// One step of one replay. It looks up its task when its turn comes, because an update may come first.
class ReplayedTask final : public NamedTask {
   public:
    ReplayedTask(std::shared_ptr<Graph> graph, size_t step)
        : NamedTask(graph->task_of(step)->task->name()), graph_(std::move(graph)), step_(step) {}

    std::vector<MemoryAccess> accesses() const override { return graph_->task_of(step_)->task->accesses(); }
    Nature nature() const override { return graph_->task_of(step_)->task->nature(); }
    std::optional<Choice> choice() const override { return graph_->task_of(step_)->task->choice(); }
    void run() override { call(*graph_->task_of(step_), &Task::run); }
    void skip() override { call(*graph_->task_of(step_), &Task::skip); }

   private:
    const std::shared_ptr<Graph> graph_;
    const size_t step_;
};

}  // namespace

bool runs_later() noexcept {
    return replaying || config().asynchronous;
}

Graph::Graph(int device) : id_(next_id()), device_(device) {}

int Graph::add_stream() {
    streams_.push_back(new_stream_number());
    return static_cast<int>(streams_.size()) - 1;
}

size_t Graph::add_task(int stream, Task& task) {
    auto kept = std::make_shared<KeptTask>();
    task.keep();
    steps_.push_back({StepKind::task, stream, 0, kept});
    kept->task = &task;
    waits_ = waits_ || dynamic_cast<const WaitingTask*>(&task) != nullptr;
    return steps_.size() - 1;
}

size_t Graph::add_record(int stream) {
    steps_.push_back({StepKind::record, stream, points_, nullptr});
    return points_++;
}

void Graph::add_wait(int stream, size_t point) {
    steps_.push_back({StepKind::wait, stream, point, nullptr});
}

std::string Graph::name() const {
    const std::lock_guard<std::mutex> lock(tasks_mutex_);
    return name_;
}

void Graph::set_name(std::string_view name) {
    constexpr size_t kMaxLength = 511;
    const std::lock_guard<std::mutex> lock(tasks_mutex_);
    name_ = name.substr(0, kMaxLength);
}

std::shared_ptr<KeptTask> Graph::task_of(size_t step) const {
    const std::lock_guard<std::mutex> lock(tasks_mutex_);
    return steps_[step].task;
}

void Graph::replace(size_t step, std::shared_ptr<KeptTask> task) {
    const std::lock_guard<std::mutex> lock(tasks_mutex_);
    steps_[step].task.swap(task);
}

void Graph::replay(Stream& stream) {
    std::vector<StreamClock> points(points_);
    const bool waits = this->waits();
    const auto launch = [&](std::unique_ptr<Task> task) {
        waits ? stream.launch_on_worker(*task) : stream.launch(*task);
        (void)task.release();  // the stream finishes it
    };
    order_after(streams_[0], order_so_far(stream.id()));
    if (!conditions_.empty()) launch(std::make_unique<BeginExecution>(conditions_));
    for (size_t i = 0; i < steps_.size(); ++i) {
        const Step& step = steps_[i];
        const int number = stream_number(step.stream);
        if (step.kind == StepKind::record) points[step.point] = order_so_far(number);
        if (step.kind == StepKind::wait) order_after(number, points[step.point]);
        if (step.kind != StepKind::task || put_on(stream, number, *task_of(i)->task)) continue;
        auto task = std::make_unique<ReplayedTask>(shared_from_this(), i);
        if (config().check_streams) order_launch(number, task->name(), task->accesses(), task_of(i)->task->asked_at());
        launch(std::move(task));
    }
    order_after(stream.id(), order_so_far(streams_[0]));
}

bool Graph::waits() const {
    return waits_ || std::any_of(branches_.begin(), branches_.end(), [](const auto& branch) { return branch->waits(); });
}

void Graph::run_steps() const {
    if (!is_complete()) return;
    for (const auto& condition : conditions_) condition->begin_execution();
    for (size_t i = 0; i < steps_.size(); ++i) {
        if (steps_[i].kind != StepKind::task) continue;
        const auto kept = task_of(i);
        try {
            call(*kept, &Task::run);
        } catch (const Error& error) {
            throw Error(error.code(), text(kept->task->name(), " in a branch: ", error.what()), error.function());
        }
    }
}

std::vector<MemoryAccess> Graph::accesses() const {
    std::vector<MemoryAccess> all;
    if (!is_complete()) return all;
    for (size_t i = 0; i < steps_.size(); ++i) {
        if (steps_[i].kind != StepKind::task) continue;
        const auto some = task_of(i)->task->accesses();
        all.insert(all.end(), some.begin(), some.end());
    }
    return all;
}

aclmdlRI add_branch(Graph& graph, const std::shared_ptr<Graph>& branch) {
    branch->is_free_branch_ = true;
    const aclmdlRI handle = add_graph(branch);
    graph.branches_.push_back(branch);
    graph.branch_handles_.push_back(handle);
    return handle;
}

aclmdlRI add_graph(std::shared_ptr<Graph> graph) {
    return graphs().add(std::move(graph));
}

void remove_graph(aclmdlRI handle) {
    const auto graph = graphs().remove(handle);
    if (graph == nullptr) return;
    remove_task_groups(*graph);
    remove_conditions(*graph);
    for (const aclmdlRI branch : graph->branches()) remove_graph(branch);
}

std::shared_ptr<Graph> find_graph(aclmdlRI handle) {
    require_pointer("modelRI", handle);
    auto graph = graphs().find(handle);
    if (graph == nullptr) refuse(ACL_ERROR_RT_INVALID_HANDLE, "modelRI", "a live graph", text(handle));
    return graph;
}

std::shared_ptr<Graph> find_complete_graph(aclmdlRI handle) {
    auto graph = find_graph(handle);
    if (!graph->is_complete())
        refuse(ACL_ERROR_RT_PARAM_INVALID, "modelRI", "a graph whose capture has ended",
               text("graph ", graph->id(), ", which is captured"));
    return graph;
}

}  // namespace torch_aclnn::host
