#include "engine/opapi/executor.h"

#include <cstring>
#include <list>
#include <mutex>

#include "aclnn/aclnn_base.h"
#include "engine/opapi/checks.h"
#include "engine/opapi/facts.h"
#include "engine/opapi/handles.h"
#include "engine/runtime/config/config.h"
#include "engine/runtime/fault/injection.h"
#include "engine/runtime/memory/host_view.h"
#include "engine/runtime/memory/memory_use.h"
#include "engine/runtime/stream/computing_thread.h"
#include "engine/runtime/stream/overflow.h"

namespace torch_aclnn::host {

// The arguments that an index refers to: inputs, outputs, or all tensors of the call.
using Arguments = std::vector<const aclTensor*>;

static Arguments inputs_of(const aclOpExecutor& executor) {
    return {executor.inputs.begin(), executor.inputs.begin() + executor.input_count};
}
static Arguments outputs_of(const aclOpExecutor& executor) {
    return {executor.outputs.begin(), executor.outputs.begin() + executor.output_count};
}
static Arguments tensors_of(const aclOpExecutor& executor) {
    Arguments all = inputs_of(executor);
    for (const aclTensor* output : outputs_of(executor)) all.push_back(output);
    return all;
}

// Checks again, with one tensor at another address, what phase 1 has checked of the tensors together.
static void require_address(const aclOpExecutor& executor, const aclTensor* tensor, void* address) {
    aclTensor moved = *tensor;
    moved.data = address;
    require_device_view({"addr", &moved});
    const auto placed = [&](const WatchedHandle& handle) { return handle.tensor() == tensor ? &moved : handle.tensor(); };
    const auto is_read = [](const WatchedHandle& handle) { return !handle.is_written() && std::strcmp(handle.name(), "self") != 0; };
    for (const WatchedHandle& one : executor.watched) {
        if (one.tensor() == nullptr) continue;
        require_sound({{one.name(), placed(one)}, {"addr", &moved}});
        for (const WatchedHandle& other : executor.watched)
            if (one.is_written() && other.tensor() != nullptr && is_read(other))
                require_no_overlap({one.name(), placed(one)}, {{other.name(), placed(other)}});
    }
}

// Inverts each element, so that no value stays what it was.
static void spoil(const aclTensor& tensor) {
    const size_t bytes = aclDataTypeSize(tensor.dtype);
    const unsigned char mask = tensor.dtype == ACL_BOOL ? 0x01 : 0xFF;
    auto* const first = static_cast<unsigned char*>(host_view(tensor.first_element()));
    const int64_t count = checked_element_count(tensor.sizes).value_or(0);
    for (int64_t i = 0; i < count; ++i) {
        int64_t rest = i, place = 0;
        for (uint64_t d = tensor.rank(); d-- > 0; rest /= tensor.sizes[d]) place += rest % tensor.sizes[d] * tensor.strides[d];
        unsigned char* const element = first + place * static_cast<int64_t>(bytes);
        for (size_t b = 0; b < bytes; ++b) element[b] ^= mask;
    }
}

static aclnnStatus set_address(const char* function, aclOpExecutor* executor, Arguments (*arguments_of)(const aclOpExecutor&), size_t index,
                               aclTensor* tensor, void* addr) {
    const auto body = [&] {
        require_not_null("executor", executor);
        require_not_null("tensor", tensor);
        require_not_null("addr", addr);
        require_executor(executor);
        require_live("tensor", tensor);
        const Arguments arguments = arguments_of(*executor);
        if (index >= arguments.size() || arguments[index] == nullptr)
            refuse("index", "an argument of " + std::string(executor->entry_point), std::to_string(index));
        if (arguments[index] != tensor) refuse("tensor", "argument " + std::to_string(index) + " of phase 1", "another aclTensor");
        require_address(*executor, tensor, addr);
        tensor->data = addr;
    };
    return aclnn_guarded(function, body);
}

// Keeps a thread from destroying a repeatable executor while another one begins to hold it.
static std::mutex holding_repeatable;

template <class Member, class List>
static void watch_members(aclOpExecutor& executor, const char* name, List* list) {
    if (list == nullptr) return;
    executor.watched.emplace_back(name, list);
    for (const auto& member : list->members) executor.watch(name, static_cast<Member*>(member.get()));
}

static void require_workspace_memory(const aclOpExecutor& executor) {
    if (executor.workspace_size == 0) return;
    const auto memory = device_memory_at(executor.workspace, executor.workspace_size);
    if (!memory || memory->reach < executor.workspace_size)
        refuse(ACL_ERROR_RT_AICORE_EXCEPTION, "workspace", std::to_string(executor.workspace_size) + " bytes of device memory",
               "memory that was freed after the launch");
}

// The memory of the call cannot be freed while it is used; what was freed since the launch is an error.
static void keep_memory(const aclOpExecutor& executor, std::list<MemoryUse>& uses) {
    const auto tensors = [&](const auto& action) {
        for (const WatchedHandle& handle : executor.watched)
            if (const aclTensor* tensor = handle.tensor()) action(handle.name(), *tensor);
    };
    tensors([&](const char*, const aclTensor& tensor) { uses.emplace_back(tensor.data, 1); });
    if (executor.workspace_size > 0) uses.emplace_back(executor.workspace, 1);
    if (executor.memory_version == device_memory_version()) return;
    require_workspace_memory(executor);
    tensors([&](const char* name, const aclTensor& tensor) {
        try {
            require_device_view({name, &tensor}, true);
        } catch (const Error& error) {
            throw Error(ACL_ERROR_RT_AICORE_EXCEPTION, std::string(error.what()) + ", because it was freed after the launch");
        }
    });
}

// A private format fills the storage.
static MemoryAccess access_of(const EntryPoint& entry_point, const WatchedHandle& handle) {
    const aclTensor& tensor = *handle.tensor();
    const auto [is_write, keeps] = use_of(entry_point, handle.name(), handle.is_written());
    const auto bytes_of = [&](const Dims& sizes) {
        return static_cast<size_t>((checked_element_count(sizes).value_or(0) * bits_of(tensor.dtype) + 7) / 8);
    };
    if (!is_public(tensor.format)) return {handle.name(), tensor.data, bytes_of(tensor.storage_sizes), is_write, keeps};
    const size_t bytes = view_bytes(tensor);
    return {handle.name(), tensor.first_element(), bytes, is_write, keeps || (is_write && bytes > bytes_of(tensor.sizes))};
}

static int64_t element_count_of(const aclOpExecutor& executor) {
    int64_t elements = 0;
    for (const WatchedHandle& handle : executor.watched)
        if (const aclTensor* tensor = handle.tensor()) elements += checked_element_count(tensor->sizes).value_or(0);
    return elements;
}

// An operator that waits for other ranks has a thread of its own, so that it does not keep other operators waiting.
static void compute_on_its_thread(const aclOpExecutor& executor) {
    if (executor.launch) {
        const OneThread here;
        return executor.compute(executor);
    }
    compute_in_parallel(element_count_of(executor), [&] { executor.compute(executor); });
}

static std::vector<Operand> operands_of(const aclOpExecutor& executor) {
    std::vector<Operand> operands;
    for (const WatchedHandle& handle : executor.watched) {
        const std::string_view kind = executor.counted->parameter_kind(handle.name());
        if (kind == "Packed") continue;  // its end stays as it was
        const auto [is_write, keeps] = use_of(*executor.counted, handle.name(), handle.is_written());
        if (const aclTensor* tensor = handle.tensor())
            operands.push_back({tensor->dtype,
                                host_view(tensor->first_element()),
                                {tensor->sizes.begin(), tensor->sizes.end()},
                                {tensor->strides.begin(), tensor->strides.end()},
                                !is_write || keeps,
                                is_write});
        else if (const aclScalar* scalar = handle.scalar())
            operands.push_back({scalar->dtype, scalar->bytes.data(), {}, {}, true, false});
    }
    return operands;
}

void refuse_executor(const aclOpExecutor* executor) {
    refuse("executor", "one that phase 1 made and that has not been used up", describe_dead(executor));
}

void require_executor(const aclOpExecutor* executor) {
    require_not_null("executor", executor);
    if (!slots_of<aclOpExecutor>().is_live(executor)) refuse_executor(executor);
}

void hold_repeatable(const aclOpExecutor* executor) {
    const std::lock_guard<std::mutex> lock(holding_repeatable);
    require_executor(executor);
    slots_of<aclOpExecutor>().hold(executor);
}

}  // namespace torch_aclnn::host

template <>
torch_aclnn::host::SlotPool& torch_aclnn::host::slots_of<aclOpExecutor>() {
    static auto* const once = new SlotPool(sizeof(aclOpExecutor));
    return *once;
}

using namespace torch_aclnn::host;

aclOpExecutor::aclOpExecutor(const char* entry_point, Compute compute)
    : entry_point(entry_point), compute(std::move(compute)), memory_version(device_memory_version()) {}

aclOpExecutor::~aclOpExecutor() {
    release_arguments();
}

void aclOpExecutor::watch(const char* name, aclTensorList* list) {
    watch_members<aclTensor>(*this, name, list);
}

void aclOpExecutor::watch(const char* name, const aclTensorList* list) {
    watch_members<const aclTensor>(*this, name, list);
}

void aclOpExecutor::watch(const char* name, const aclScalarList* list) {
    watch_members<const aclScalar>(*this, name, list);
}

void aclOpExecutor::hold_arguments() {
    if (holds_arguments) return;
    for (const auto& handle : watched) handle.hold();
    holds_arguments = true;
}

void aclOpExecutor::release_arguments() noexcept {
    if (holds_arguments)
        for (const auto& handle : watched) handle.drop();
    holds_arguments = false;
}

std::vector<MemoryAccess> aclOpExecutor::accesses() const {
    std::vector<MemoryAccess> accesses;
    for (const WatchedHandle& handle : watched) {
        const aclTensor* tensor = handle.tensor();
        if (tensor == nullptr || tensor->empty()) continue;
        accesses.push_back(access_of(*counted, handle));
    }
    return accesses;
}

// The program may give a repeatable executor other addresses, and destroy it, while the graph lives.
void aclOpExecutor::keep() {
    if (repeatable) refuse("executor", "one without aclSetAclOpExecutorRepeatable, as the stream is captured", "a repeatable one");
    hold_arguments();
}

void aclOpExecutor::begin() {
    has_run = true;
    if (trace_number != 0) set_traced_task(trace_number);
    counted->count_call();
}

void aclOpExecutor::skip() {
    begin();
}

void aclOpExecutor::run() {
    begin();
    std::list<MemoryUse> uses;
    if (runs_later()) keep_memory(*this, uses);
    constexpr int kPattern = 0xA5;
    if (config().use_workspace && !config().dry_run) std::memset(host_view(workspace), kPattern, workspace_size);
    std::optional<OverflowCheck> overflow;
    if (has_overflow_register()) overflow.emplace(operands_of(*this));
    compute_on_its_thread(*this);
    if (overflow) overflow->finish();
    if (!result_is_spoiled(entry_point)) return;
    for (const WatchedHandle& handle : watched)
        if (handle.is_written() && handle.tensor() != nullptr) spoil(*handle.tensor());
}

void aclOpExecutor::finish() noexcept {
    if (!repeatable || !config().keep_handles) release_arguments();
    if (repeatable)
        drop(this);
    else
        delete this;
}

aclnnStatus aclSetAclOpExecutorRepeatable(aclOpExecutor* executor) {
    const auto body = [&] {
        require_executor(executor);
        if (executor->launch) refuse("executor", "one of an operator without other ranks", executor->entry_point);
        executor->repeatable = true;
    };
    return aclnn_guarded(__func__, body);
}

aclnnStatus aclDestroyAclOpExecutor(aclOpExecutor* executor) {
    const auto body = [&] {
        if (executor == nullptr) return;
        {
            const std::lock_guard<std::mutex> lock(holding_repeatable);
            if (slots_of<aclOpExecutor>().is_live(executor) && executor->is_in_cache)
                refuse("executor", "one that is not kept for calls that are made again", "one of " + std::string(executor->entry_point));
            if (!slots_of<aclOpExecutor>().retire(executor)) refuse_executor(executor);
        }
        drop(executor);
    };
    return aclnn_guarded(__func__, body);
}

aclnnStatus aclSetInputTensorAddr(aclOpExecutor* executor, const size_t index, aclTensor* tensor, void* addr) {
    return set_address(__func__, executor, inputs_of, index, tensor, addr);
}

aclnnStatus aclSetOutputTensorAddr(aclOpExecutor* executor, const size_t index, aclTensor* tensor, void* addr) {
    return set_address(__func__, executor, outputs_of, index, tensor, addr);
}

aclnnStatus aclSetTensorAddr(aclOpExecutor* executor, const size_t index, aclTensor* tensor, void* addr) {
    return set_address(__func__, executor, tensors_of, index, tensor, addr);
}

aclnnStatus aclnnInit(const char*) {
    return ACLNN_SUCCESS;
}
aclnnStatus aclnnFinalize() {
    return ACLNN_SUCCESS;
}
