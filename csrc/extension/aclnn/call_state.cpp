#include "extension/aclnn/call_state.h"

#include <ATen/Context.h>

#include "extension/aclnn/executor_cache.h"
#include "torch_npu/csrc/core/npu/NPUStream.h"

// Exported by torch_npu, though not by every version: absent ones are null.
[[gnu::weak]] void* GetAclStream();
[[gnu::weak]] void InitExecSubTheadCtx(void* stream);
[[gnu::weak]] uint32_t OpApiGetTaskQueueEnable();
namespace c10_npu {
[[gnu::weak]] uint32_t GetDeterministicLevel();
}
namespace at_npu::native {
[[gnu::weak]] void ApplyDeterministicLevel(int64_t level, bool deterministic_algorithms, bool is_aclnn);
[[gnu::weak]] void SetDeterministic(bool is_aclnn);
}  // namespace at_npu::native

namespace torch_aclnn {
namespace {

// Functions of the operator library that are no documented interface but that torch_npu calls, where they exist, as we do here.
using SetUpMemory = int (*)(void*, bool);
using TearDownMemory = void (*)(void*, bool);

template <class Function>
Function find(const char* name) {
    return reinterpret_cast<Function>(find_operator(name));
}

constexpr int kDeterministic = 0;  // ACL_OPT_DETERMINISTIC

// True if the current context is not deterministic: then there is nothing to do for a program that does not ask for it, which is the usual
// case.
bool is_switched_off() {
    using GetOption = int (*)(int option, int64_t* value);
    static const auto get = reinterpret_cast<GetOption>(find_in_runtime("aclrtCtxGetSysParamOpt"));
    int64_t value = 1;
    return get != nullptr && get(kDeterministic, &value) == 0 && value == 0;
}

// For a torch_npu that exports no function for it.
void set_deterministic(bool deterministic) {
    using SetOption = int (*)(int option, int64_t value);
    static const auto set = reinterpret_cast<SetOption>(find_in_runtime("aclrtCtxSetSysParamOpt"));
    if (set != nullptr) set(kDeterministic, deterministic);
}

// In mode 2 torch_npu's own operators call phase 1 on the queue, and set the switch there to what it was when they were called. Phase 1 of
// ours is called at once, so those must be done before the switch is set: each would set it while the other one relies on it.
void wait_for_queued_operators() {
    constexpr uint32_t kPhase1IsQueued = 2;
    if (OpApiGetTaskQueueEnable != nullptr && OpApiGetTaskQueueEnable() == kPhase1IsQueued) c10_npu::getCurrentNPUStream().stream();
}

void apply_deterministic_switch() {
    const bool deterministic = at::globalContext().deterministicAlgorithms();
    if (!deterministic && is_switched_off()) return;
    wait_for_queued_operators();
    if (at_npu::native::ApplyDeterministicLevel != nullptr)
        at_npu::native::ApplyDeterministicLevel(c10_npu::GetDeterministicLevel(), deterministic, true);
    else if (at_npu::native::SetDeterministic != nullptr)
        at_npu::native::SetDeterministic(true);
    else
        set_deterministic(deterministic);
}

}  // namespace

CallState::CallState() {
    apply_deterministic_switch();
    end_cache_key();
}

CallState::~CallState() {
    end_cache_key();
}

HugeMemoryScope::HugeMemoryScope() {
    static const auto set_up = find<SetUpMemory>("InitHugeMemThreadLocal");
    if (set_up != nullptr) set_up(nullptr, false);
}

HugeMemoryScope::~HugeMemoryScope() {
    static const auto tear_down = find<TearDownMemory>("UnInitHugeMemThreadLocal");
    if (tear_down != nullptr) tear_down(nullptr, false);
}

Stream current_stream() {
    return GetAclStream != nullptr ? GetAclStream() : c10_npu::getCurrentNPUStream().stream(false);
}

void use_stream_limits_on_this_thread(Stream stream) {
    if (InitExecSubTheadCtx != nullptr) InitExecSubTheadCtx(stream);
}

void release_huge_memory() {
    static const auto release = find<TearDownMemory>("ReleaseHugeMem");
    if (release != nullptr) release(nullptr, false);
}

}  // namespace torch_aclnn
