#include "extension/aclnn/fill.h"

#include "include/aclnn/acl_meta.h"

namespace torch_aclnn {

std::unique_ptr<QueuedCall> make_fill(const at::Tensor& tensor, double value) {
    using Phase1 = aclnnStatus(const aclTensor* selfRef, const aclScalar* value, uint64_t* workspaceSize, aclOpExecutor** executor);
    static const EntryPoint<Phase1> entry_point("aclnnInplaceFillScalar");
    return make_call(entry_point, make_handle(tensor), make_handle(value));
}

}  // namespace torch_aclnn
