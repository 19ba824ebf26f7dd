#include "engine/runtime/graph/condition.h"

#include "acl/acl_rt.h"
#include "engine/runtime/config/config.h"
#include "engine/runtime/error/guarded.h"
#include "engine/runtime/handle_table.h"
#include "engine/runtime/lasting.h"

namespace torch_aclnn::host {

constexpr auto& conditions = lasting<HandleTable<Condition>, HandleKind::condition>;

static void* allocate_value() {
    if (config().dry_run)
        throw Error(ACL_ERROR_RT_FEATURE_NOT_SUPPORT,
                    "a dry run (TORCH_ACLNN_HOST_COMPUTE=0) knows no values, by which conditional tasks choose");
    void* address = nullptr;
    const aclError code = aclrtMalloc(&address, sizeof(uint64_t), ACL_MEM_MALLOC_NORMAL_ONLY);
    if (code != ACL_SUCCESS) throw Error(code, "no device memory for the value of the condition");
    return address;
}

// The program and captured tasks write the value without a call of the engine.
static std::atomic<uint64_t>& word_at(const MemoryRange& range) {
    return reinterpret_cast<std::atomic<uint64_t>&>(*static_cast<uint64_t*>(range.view()));
}

Condition::Condition(const std::shared_ptr<Graph>& graph, uint32_t initial, bool assigns)
    : graph_(graph.get()),
      initial_(initial),
      assigns_(assigns),
      address_(allocate_value()),
      range_("condition", address_, sizeof(uint64_t), Side::device, "ACL_MEMCPY_DEVICE_TO_DEVICE") {
    word_at(range_).store(initial_, std::memory_order_release);
}

Condition::~Condition() {
    aclrtFree(address_);
}

uint64_t Condition::value() const {
    return word_at(range_).load(std::memory_order_acquire);
}

void Condition::begin_execution() const {
    if (assigns_) word_at(range_).store(initial_, std::memory_order_release);
}

aclmdlRICondHandle add_condition(const std::shared_ptr<Graph>& graph, uint32_t initial, bool assigns) {
    auto condition = std::make_shared<Condition>(graph, initial, assigns);
    graph->add_condition(condition);
    return conditions().add(std::move(condition));
}

std::shared_ptr<Condition> find_condition(aclmdlRICondHandle handle) {
    require_pointer("handle", handle);
    auto condition = conditions().find(handle);
    if (condition == nullptr) refuse(ACL_ERROR_RT_INVALID_HANDLE, "handle", "a condition of a live graph", text(handle));
    return condition;
}

void remove_conditions(const Graph& graph) {
    std::vector<const void*> handles;
    conditions().for_each([&](const void* handle, const Condition& condition) {
        if (condition.is_of(graph)) handles.push_back(handle);
    });
    for (const void* handle : handles) conditions().remove(handle);
}

// The accesses are those of all branches, because the launch does not know which one is taken.
std::vector<MemoryAccess> ConditionalTask::accesses() const {
    std::vector<MemoryAccess> all;
    condition_->range().add_access(all, false);
    for (const auto& branch : branches_) {
        const auto some = branch->accesses();
        all.insert(all.end(), some.begin(), some.end());
    }
    return all;
}

void ConditionalTask::run() {
    if (type_ == ACL_MODEL_RI_COND_TYPE_WHILE) {
        while (condition_->value() != 0) branches_[0]->run_steps();
        return;
    }
    const uint64_t value = condition_->value();
    const uint64_t branch = type_ == ACL_MODEL_RI_COND_TYPE_SWITCH ? value : value == 0;
    if (branch < branches_.size()) branches_[branch]->run_steps();
}

}  // namespace torch_aclnn::host
