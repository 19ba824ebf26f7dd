// What torch_npu's own operators set up around each call of an entry point, and ours with them.
#include "extension/aclnn/launch.h"

#include <ATen/Context.h>

#include <atomic>
#include <cstdlib>

#include "extension/aclnn/executor_cache.h"
#include "torch_npu/csrc/core/npu/NPUStream.h"

// torch_npu exports these, though not in every version; absent ones are null.
[[gnu::weak]] void* GetAclStream();
[[gnu::weak]] void InitExecSubTheadCtx(void* stream);
namespace c10_npu {
[[gnu::weak]] uint32_t GetDeterministicLevel();
}
namespace at_npu::native {
[[gnu::weak]] void ApplyDeterministicLevel(int64_t level, bool deterministic_algorithms, bool is_aclnn);
}  // namespace at_npu::native

namespace torch_aclnn {

// Functions of the operator library that are no documented interface but that torch_npu calls, where they exist, as we do here.
using SetUpMemory = int (*)(void*, bool);
using TearDownMemory = void (*)(void*, bool);

constexpr int kDeterministic = 0;  // ACL_OPT_DETERMINISTIC

// Returns true if the current context is not deterministic. CANN's query fails where nobody has set the switch, and with some versions
// always.
static bool is_switched_off() {
    using GetOption = int (*)(int option, int64_t* value);
    static const auto get = reinterpret_cast<GetOption>(find_in_runtime("aclrtCtxGetSysParamOpt"));
    int64_t value = 1;
    return get != nullptr && get(kDeterministic, &value) == 0 && value == 0;
}

// Sets the switch where torch_npu exports no function for it.
static void set_deterministic(bool deterministic) {
    using SetOption = int (*)(int option, int64_t value);
    static const auto set = reinterpret_cast<SetOption>(find_in_runtime("aclrtCtxSetSysParamOpt"));
    if (set != nullptr) set(kDeterministic, deterministic);
}

// In mode 2 torch_npu's own operators call phase 1 on the queue, and set the switch there to what it was when they were called. Phase 1 of
// ours is called at once, so those must be done before the switch is set: each would set it while the other one relies on it.
static void wait_for_queued_operators() {
    // The variable is read once, as torch_npu reads it.
    static const bool is_phase1_queued = [] {
        const char *mode = std::getenv("TASK_QUEUE_ENABLE"), *blocking = std::getenv("ASCEND_LAUNCH_BLOCKING");
        return mode != nullptr && std::strtol(mode, nullptr, 10) == 2 && (blocking == nullptr || std::strtol(blocking, nullptr, 10) != 1);
    }();
    if (is_phase1_queued) c10_npu::getCurrentNPUStream().stream();
}

// There is nothing to do for a program that has never asked for it, which is the usual case.
static void apply_deterministic_switch() {
    static std::atomic<bool> was_wanted{false};
    const bool deterministic = at::globalContext().deterministicAlgorithms();
    if (deterministic) was_wanted = true;
    if (!was_wanted || (!deterministic && is_switched_off())) return;
    wait_for_queued_operators();
    if (at_npu::native::ApplyDeterministicLevel != nullptr)
        at_npu::native::ApplyDeterministicLevel(c10_npu::GetDeterministicLevel(), deterministic, true);
    else
        set_deterministic(deterministic);
}

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
