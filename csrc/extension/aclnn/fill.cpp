#include "extension/aclnn/fill.h"

#include "include/aclnn/acl_meta.h"

namespace torch_aclnn {

void fill(const at::Tensor& tensor, double value) {
    using Phase1 = aclnnStatus(const aclTensor* selfRef, const aclScalar* value, uint64_t* workspaceSize, aclOpExecutor** executor);
    static const EntryPoint<Phase1> entry_point("aclnnInplaceFillScalar");
    call(entry_point, tensor, Scalar{value});
}

}  // namespace torch_aclnn
