#include "engine/aten/implement/values.h"

#include "engine/aten/adapter/kinds.h"

namespace torch_aclnn::host::aten {

torchAclnnTensor shown(const at::Tensor& tensor) {
    return {tensor.data_ptr(), tensor.sizes().data(), tensor.strides().data(), tensor.dim(), acl_data_type(tensor.scalar_type())};
}

torchAclnnNumber shown(const at::Scalar& number) {
    if (number.isBoolean()) return {ACL_BOOL, number.toBool(), number.toBool() ? 1.0 : 0.0, 0};
    if (number.isIntegral(false)) return {ACL_INT64, number.toLong(), number.toDouble(), 0};
    if (number.isFloatingPoint()) return {ACL_DOUBLE, 0, number.toDouble(), 0};
    const auto parts = number.toComplexDouble();
    return {ACL_COMPLEX128, 0, parts.real(), parts.imag()};
}

}  // namespace torch_aclnn::host::aten
