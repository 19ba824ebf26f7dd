// Executors and the two phases of an entry point.
#pragma once

#include "engine/opapi/handles.h"
#include "engine/opapi/kept_arguments.h"
#include "engine/opapi/traced_arguments.h"
#include "engine/runtime/call/traced.h"
#include "engine/runtime/diagnostics/entry_point.h"
#include "engine/runtime/stream/task.h"

namespace torch_aclnn::host {

// A recipe makes a call's executor again, for tensors at other addresses.
struct Recipe {
    KeptArguments arguments;
    std::function<std::unique_ptr<aclOpExecutor>(const KeptArguments& arguments)> make;
};

// A parameter under its documented name. The tensor may be null where the parameter is optional.
struct Named {
    const char* name;
    const aclTensor* tensor;
};

// A handle that phase 1 was given. It must live until phase 2 has been called; a slot that was used again in between does not count.
class WatchedHandle {
   public:
    // The operator writes a tensor that is not constant.
    template <class Argument, class Handle = std::remove_const_t<Argument>>
    WatchedHandle(const char* name, Argument* handle)
        : name_(name),
          kind_(handle_name<Handle>),
          handle_(handle),
          slots_(slots_of<Handle>()),
          generation_(slots_.generation(handle)),
          is_written_(!std::is_const_v<Argument>),
          data_(data_of(handle)),
          drop_([](const void* held) { torch_aclnn::host::drop(static_cast<const Handle*>(held)); }) {}

    const char* name() const { return name_; }
    const char* kind() const { return kind_; }
    bool is_written() const { return is_written_; }
    bool is_live() const { return slots_.generation(handle_) == generation_; }
    // Between hold() and drop() the program may destroy the handle, and what is behind it stays.
    void hold() const { slots_.hold(handle_); }
    void drop() const { drop_(handle_); }
    // Whether the tensor has another data address than in phase 1.
    bool was_moved() const { return tensor() != nullptr && tensor()->data != data_; }
    // Returns the handle as a tensor, or as a scalar, or null if it is of another kind.
    const aclTensor* tensor() const { return as<aclTensor>(); }
    const aclScalar* scalar() const { return as<aclScalar>(); }

   private:
    static const void* data_of(const aclTensor* tensor) { return tensor->data; }
    static const void* data_of(const void*) { return nullptr; }
    template <class Handle>
    const Handle* as() const {
        return &slots_ == &slots_of<Handle>() ? static_cast<const Handle*>(handle_) : nullptr;
    }

    const char* name_;
    const char* kind_;
    const void* handle_;
    SlotPool& slots_;
    uint32_t generation_;
    bool is_written_;
    const void* data_;
    void (*drop_)(const void*);
};

}  // namespace torch_aclnn::host

// Carries a checked call from phase 1 to phase 2: the computation, and the arguments, which it refers to and does not own.
struct TORCH_ACLNN_HOST_API aclOpExecutor final : torch_aclnn::host::Task, torch_aclnn::host::Pooled<aclOpExecutor> {
    using Named = torch_aclnn::host::Named;
    using Compute = std::function<void(const aclOpExecutor&)>;
    using Launch = std::function<void(aclrtStream, const std::shared_ptr<aclOpExecutor>&)>;

    aclOpExecutor(const char* entry_point, Compute compute);
    ~aclOpExecutor() override;

    // The tensors that the computation looks up by number, in the order in which they are added; null stands for "not given".
    void add_input(const aclTensor* tensor) { inputs[input_count++] = tensor; }
    void add_output(const aclTensor* tensor) { outputs[output_count++] = tensor; }

    // Notes an argument that phase 2 has to find alive; null stands for "not given".
    void watch(const char* name, auto* handle) {
        if (handle != nullptr) watched.emplace_back(name, handle);
    }
    void watch(const char* name, aclTensorList* list);
    void watch(const char* name, const aclTensorList* list);
    void watch(const char* name, const aclScalarList* list);

    bool has_input(size_t i) const { return inputs[i] != nullptr; }
    const aclTensor& input(size_t i) const { return *inputs[i]; }
    const aclTensor& output(size_t i) const { return *outputs[i]; }

    const char* name() const override { return entry_point; }
    std::vector<torch_aclnn::host::MemoryAccess> accesses() const override;
    Nature nature() const override;
    std::optional<torch_aclnn::host::Choice> choice() const override;
    void run() override;
    void skip() override;
    void finish() noexcept override;
    void keep() override;
    // Does what each run needs, whether it computes or not.
    void begin();
    // Holds the handles for work that is done after phase 2 has returned, when the program may destroy them.
    void hold_arguments();
    void release_arguments() noexcept;

    const char* entry_point;
    torch_aclnn::host::EntryPoint* counted = nullptr;         // the entry point whose runs phase 2 counts
    static constexpr size_t kMaxInputs = 8, kMaxOutputs = 1;  // the limits of an operator
    std::array<const aclTensor*, kMaxInputs> inputs{};
    std::array<const aclTensor*, kMaxOutputs> outputs{};
    size_t input_count = 0, output_count = 0;
    Compute compute;
    std::vector<torch_aclnn::host::WatchedHandle> watched;
    uint64_t memory_version;                            // the version of device memory that the views were checked against
    uint64_t trace_number = 0;                          // the number of the call, if there is a trace
    uint64_t workspace_size = 0;                        // the size that phase 1 asked for
    void* workspace = nullptr;                          // the memory that phase 2 was given
    Launch launch;                                      // called by phase 2 if the stream does not run the operator itself
    std::unique_ptr<torch_aclnn::host::Recipe> recipe;  // set if the executor may be kept for equal calls
    std::shared_ptr<const void> cached;                 // the arguments, if the call had no phase 1
    bool is_in_cache = false;                           // if set, the program must not destroy it
    bool repeatable = false;
    bool has_run = false;
    bool holds_arguments = false;
};

namespace torch_aclnn::host {

TORCH_ACLNN_HANDLE_KIND(aclOpExecutor)

// Throws "executor: expected one ... that has not been used up": 161001 for null, 161002 for one that is not live.
void require_executor(const aclOpExecutor* executor);
// Keeps a repeatable executor alive until it has finished, although the program may destroy it before.
void hold_repeatable(const aclOpExecutor* executor);
[[noreturn]] void refuse_executor(const aclOpExecutor* executor);

// Returns the workspace that phase 1 of any entry point asks for.
uint64_t workspace_size_of_phase1(const char* entry_point);
// The checks of phase 1 that are not about arguments of the operator, and what it does with the executor that it made.
TORCH_ACLNN_HOST_API void begin_phase1(const uint64_t* workspace_size, aclOpExecutor* const* executor);
// Returns the call's number in the trace.
TORCH_ACLNN_HOST_API uint64_t end_phase1(std::unique_ptr<aclOpExecutor> made, uint64_t* workspace_size, aclOpExecutor** executor);

// Runs `prepare`, which checks the arguments and makes the executor, and turns what it throws into a code and a message. `describe` adds
// the arguments to the trace's line, if there is a trace.
aclnnStatus run_phase1(const char* entry_point, uint64_t* workspace_size, aclOpExecutor** executor, auto&& prepare,
                       auto&& describe) noexcept {
    uint64_t number = 0;
    const auto body = [&] {
        begin_phase1(workspace_size, executor);
        number = end_phase1(prepare(), workspace_size, executor);
    };
    const auto details = [&] {
        TraceDetails line;
        line.phase = 1;
        line.number = number;
        describe(line.arguments);
        return line;
    };
    return traced(entry_point, details, body, kPhase1Codes);
}

// Checks that the executor is the entry point's own and that all that phase 1 was given is still there, and enqueues it.
TORCH_ACLNN_HOST_API aclnnStatus run_phase2(EntryPoint& entry_point, void* workspace, uint64_t workspace_size, aclOpExecutor* executor,
                                            aclrtStream stream) noexcept;

}  // namespace torch_aclnn::host
