#include "extension/aclnn/launch.h"

#include <ATen/ops/empty.h>

#include "torch_npu/csrc/core/npu/NPUStream.h"
#include "torch_npu/csrc/framework/OpCommand.h"
#include "torch_npu/csrc/framework/utils/OpPreparation.h"

namespace torch_aclnn {

void launch(const char* entry_point, Phase2 phase2, uint64_t workspace_size, aclOpExecutor* executor) {
    const Stream stream = c10_npu::getCurrentNPUStream().stream(false);
    at::Tensor workspace;
    if (workspace_size > 0)
        workspace = at::empty({static_cast<int64_t>(workspace_size)}, at::TensorOptions(at::kByte).device(at::kPrivateUse1));
    const auto enqueue = [entry_point, phase2, workspace, workspace_size, executor, stream]() -> int {
        void* address = workspace_size > 0 ? workspace.mutable_data_ptr() : nullptr;
        check_status(entry_point, phase2(address, workspace_size, executor, stream));
        return 0;
    };
    at_npu::native::OpCommand::RunOpApiV2(entry_point, enqueue);
}

at::Tensor empty_on_npu(const at::Tensor& like, at::IntArrayRef sizes) {
    return at_npu::native::OpPreparation::apply_tensor_without_format(like, sizes);
}

}  // namespace torch_aclnn
