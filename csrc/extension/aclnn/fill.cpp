#include "extension/aclnn/fill.h"

#include "include/aclnnop/aclnn_fill_scalar.h"

namespace torch_aclnn {

void fill(const at::Tensor& tensor, double value) {
    static const EntryPoint<decltype(aclnnInplaceFillScalarGetWorkspaceSize)> entry_point("aclnnInplaceFillScalar");
    call(entry_point, tensor, Scalar{value});
}

}  // namespace torch_aclnn
