// Executors and the two phases of an entry point.
#pragma once

#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <vector>

#include "host/opapi/handles.h"
#include "host/opapi/refusal.h"
#include "host/runtime/engine.h"

// Carries a checked call from phase 1 to phase 2: deep copies of its tensors, and the computation.
struct TORCH_ACLNN_HOST_API aclOpExecutor final : torch_aclnn::host::Task {
    using Compute = std::function<void(const aclOpExecutor&)>;

    // `inputs` and `outputs` may hold nulls, for optional arguments.
    aclOpExecutor(const char* entry_point, std::initializer_list<const aclTensor*> inputs, std::initializer_list<const aclTensor*> outputs,
                  Compute compute);
    ~aclOpExecutor() override;

    const aclTensor& input(size_t i) const { return *inputs[i]; }
    const aclTensor& output(size_t i) const { return *outputs[i]; }

    const char* name() const override { return entry_point; }
    void run() override { compute(*this); }
    void finish() noexcept override;

    const char* entry_point;
    std::vector<std::optional<aclTensor>> inputs;
    std::vector<std::optional<aclTensor>> outputs;
    Compute compute;  // empty: there is nothing to compute, as for empty tensors
    bool repeatable = false;
};

namespace torch_aclnn::host {

// A call of phase 1's body without the allocation of a std::function.
struct Phase1Body {
    void* closure;
    std::unique_ptr<aclOpExecutor> (*call)(void* closure);
};
TORCH_ACLNN_HOST_API aclnnStatus run_phase1(const char* entry_point, uint64_t* workspace_size, aclOpExecutor** executor,
                                            Phase1Body body) noexcept;

// Runs `prepare`, which checks the arguments and makes the executor, and turns a refusal into a code and a sentence.
template <class Prepare>
aclnnStatus run_phase1(const char* entry_point, uint64_t* workspace_size, aclOpExecutor** executor, Prepare prepare) noexcept {
    const auto call = [](void* closure) { return (*static_cast<Prepare*>(closure))(); };
    return run_phase1(entry_point, workspace_size, executor, Phase1Body{&prepare, call});
}

// Enqueues the executor. The engine's operators need no workspace, so any that is passed is left alone.
TORCH_ACLNN_HOST_API aclnnStatus run_phase2(const char* entry_point, CallCounter& counter, void* workspace, uint64_t workspace_size,
                                            aclOpExecutor* executor, aclrtStream stream) noexcept;

}  // namespace torch_aclnn::host

// Defines the second phase of an entry point.
#define TORCH_ACLNN_PHASE2(entry_point, stream_type)                                                                \
    aclnnStatus entry_point(void* workspace, uint64_t workspaceSize, aclOpExecutor* executor, stream_type stream) { \
        static ::torch_aclnn::host::CallCounter counter(#entry_point);                                              \
        return ::torch_aclnn::host::run_phase2(#entry_point, counter, workspace, workspaceSize, executor, stream);  \
    }
