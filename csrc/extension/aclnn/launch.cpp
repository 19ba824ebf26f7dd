#include "extension/aclnn/launch.h"

#include <ATen/ops/empty.h>

#include <utility>

#include "torch_npu/csrc/core/npu/NPUStream.h"
#include "torch_npu/csrc/framework/OpCommand.h"
#include "torch_npu/csrc/framework/utils/OpPreparation.h"

namespace torch_aclnn {

QueuedCall::~QueuedCall() {
    if (executor_ == nullptr) return;
    // Not in every version of CANN, where an executor that is not run stays behind.
    static const auto destroy = reinterpret_cast<Status (*)(aclOpExecutor*)>(find_operator("aclDestroyAclOpExecutor"));
    if (destroy != nullptr) destroy(executor_);
}

void QueuedCall::run_after(std::unique_ptr<QueuedCall> other) {
    other->before_ = std::move(before_);
    before_ = std::move(other);
}

void QueuedCall::prepare(Stream stream) {
    if (before_ != nullptr) before_->prepare(stream);
    stream_ = stream;
    if (workspace_size_ > 0)
        workspace_ = at::empty({static_cast<int64_t>(workspace_size_)}, at::TensorOptions(at::kByte).device(at::kPrivateUse1));
}

Status QueuedCall::run() {
    if (before_ != nullptr) {
        if (const Status status = before_->run()) return status;
    }
    use_stream_limits_on_this_thread(stream_);
    void* const address = workspace_size_ > 0 ? workspace_.mutable_data_ptr() : nullptr;
    const Status status = phase2_(address, workspace_size_, std::exchange(executor_, nullptr), stream_);
    release_huge_memory();
    return status;
}

void launch(std::unique_ptr<QueuedCall> call) {
    call->prepare(current_stream());
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
