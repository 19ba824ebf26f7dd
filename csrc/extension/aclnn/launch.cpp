#include "extension/aclnn/launch.h"

#include <ATen/ops/empty.h>

#include "torch_npu/csrc/core/npu/NPUStream.h"
#include "torch_npu/csrc/framework/OpCommand.h"

// at_npu::native::OpPreparation::apply_tensor_without_format, a member of a class that the headers of some versions declare as hidden. Null
// where torch_npu does not export it.
[[gnu::weak]] at::Tensor apply_tensor_without_format(const at::Tensor& like, at::IntArrayRef sizes) __asm__(
    "_ZN6at_npu6native13OpPreparation27apply_tensor_without_formatERKN2at6TensorEN3c108ArrayRefIlEE");

namespace torch_aclnn {

// An executor may be destroyed only if it is repeatable. Some versions of CANN lack the two functions; there an executor that is not run is
// leaked, as those of torch_npu are.
Executor::~Executor() {
    if (executor_ == nullptr || may_be_cached_) return;
    using Function = Status (*)(aclOpExecutor*);
    static const auto set_repeatable = reinterpret_cast<Function>(find_operator("aclSetAclOpExecutorRepeatable"));
    static const auto destroy = reinterpret_cast<Function>(find_operator("aclDestroyAclOpExecutor"));
    if (set_repeatable != nullptr && destroy != nullptr && set_repeatable(executor_) == 0) destroy(executor_);
}

Status QueuedCall::run() {
    use_stream_limits_on_this_thread(stream_);
    const Status status = phase2_(workspace_, workspace_size_, release_executor(), stream_);
    // The library's message is left to torch_npu, which tells by it what kind of failure it is; it would be gone once it is read.
    if (status != 0) TORCH_WARN(describe_failure(entry_point_, status));
    end();
    return status;
}

void launch(const std::shared_ptr<QueuedCall>& call, Stream stream) {
    // Freed as soon as the call is queued: the allocator gives the block to later work of the same stream only.
    at::Tensor workspace;
    if (call->workspace_size() > 0)
        workspace = at::empty({static_cast<int64_t>(call->workspace_size())}, at::TensorOptions(at::kByte).device(at::kPrivateUse1));
    call->place(stream, workspace.defined() ? workspace.mutable_data_ptr() : nullptr);
    try {
        at_npu::native::OpCommand::RunOpApiV2(call->entry_point(), [call]() -> int { return call->run(); });
    } catch (const c10::Error& error) {
        rethrow_out_of_memory(error);
        throw;
    }
}

at::Tensor empty_on_npu(const at::Tensor& like, at::IntArrayRef sizes) {
    if (apply_tensor_without_format != nullptr) return apply_tensor_without_format(like, sizes);
    return at::empty(sizes, like.options());
}

}  // namespace torch_aclnn
