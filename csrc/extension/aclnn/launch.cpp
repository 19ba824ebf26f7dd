#include "extension/aclnn/launch.h"

#include <ATen/ops/empty.h>

#include <utility>

#include "torch_npu/csrc/core/npu/NPUStream.h"
#include "torch_npu/csrc/framework/OpCommand.h"
#include "torch_npu/csrc/framework/utils/OpPreparation.h"

namespace torch_aclnn {

// An executor may be destroyed only if it is repeatable. Neither function is in every version of CANN, where one that is not run stays
// behind, as torch_npu's own do.
Executor::~Executor() {
    if (executor_ == nullptr) return;
    using Function = Status (*)(aclOpExecutor*);
    static const auto set_repeatable = reinterpret_cast<Function>(find_operator("aclSetAclOpExecutorRepeatable"));
    static const auto destroy = reinterpret_cast<Function>(find_operator("aclDestroyAclOpExecutor"));
    if (set_repeatable != nullptr && destroy != nullptr && set_repeatable(executor_) == 0) destroy(executor_);
}

Status QueuedCall::run() {
    use_stream_limits_on_this_thread(stream_);
    const Status status = phase2_(workspace_, workspace_size_, release_executor(), stream_);
    // The library's message is this thread's, which may be that of the queue; what torch_npu raises later has the code alone.
    if (status != 0) TORCH_WARN(describe_failure(entry_point_, status));
    release_huge_memory();
    return status;
}

void launch(std::unique_ptr<QueuedCall> call, Stream stream) {
    // Freed as soon as the call is queued: the allocator gives the block to later work of the same stream only.
    at::Tensor workspace;
    if (call->workspace_size() > 0)
        workspace = at::empty({static_cast<int64_t>(call->workspace_size())}, at::TensorOptions(at::kByte).device(at::kPrivateUse1));
    call->place(stream, workspace.defined() ? workspace.mutable_data_ptr() : nullptr);
    const std::string& entry_point = call->entry_point();
    // A bare pointer fits into std::function itself, of which torch_npu makes several copies. torch_npu looks at the status, as for its own
    // operators: it knows what to do about a device that has failed.
    const auto run = [queued = call.release()]() -> int { return std::unique_ptr<QueuedCall>(queued)->run(); };
    at_npu::native::OpCommand::RunOpApiV2(entry_point, run);
}

at::Tensor empty_on_npu(const at::Tensor& like, at::IntArrayRef sizes) {
    return at_npu::native::OpPreparation::apply_tensor_without_format(like, sizes);
}

}  // namespace torch_aclnn
