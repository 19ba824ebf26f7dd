// Conditional tasks: a step of a graph that replays one of several branches, graphs of their own, by a value in device memory.
#pragma once

#include "acl/acl_mdl.h"
#include "engine/runtime/graph/graph.h"
#include "engine/runtime/memory/memory_range.h"

namespace torch_aclnn::host {

// The value that decides, in memory that lives as long as the graph.
class Condition {
   public:
    // Throws the code of aclrtMalloc.
    Condition(const std::shared_ptr<Graph>& graph, uint32_t initial, bool assigns);
    Condition(const Condition&) = delete;
    ~Condition();

    bool is_of(const Graph& graph) const { return &graph == graph_; }
    void* address() const { return address_; }
    const MemoryRange& range() const { return range_; }
    uint64_t value() const;
    // Sets the initial value, if each execution of the graph begins with it.
    void begin_execution() const;

   private:
    const Graph* const graph_;  // the graph owns the condition
    const uint64_t initial_;
    const bool assigns_;
    void* const address_;
    const MemoryRange range_;
};

aclmdlRICondHandle add_condition(const std::shared_ptr<Graph>& graph, uint32_t initial, bool assigns);
// 107017 unless the handle is one of a live graph.
std::shared_ptr<Condition> find_condition(aclmdlRICondHandle handle);
void remove_conditions(const Graph& graph);

class ConditionalTask final : public NamedTask {
   public:
    ConditionalTask(std::shared_ptr<Condition> condition, aclmdlRICondTaskType type, std::vector<std::shared_ptr<Graph>> branches)
        : NamedTask("aclmdlRIAddCondTask"), condition_(std::move(condition)), type_(type), branches_(std::move(branches)) {}

    std::vector<MemoryAccess> accesses() const override;
    void run() override;

   private:
    const std::shared_ptr<Condition> condition_;
    const aclmdlRICondTaskType type_;
    const std::vector<std::shared_ptr<Graph>> branches_;
};

}  // namespace torch_aclnn::host
