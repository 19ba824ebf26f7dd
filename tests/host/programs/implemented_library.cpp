// A library as TORCH_ACLNN_HOST_LIBRARIES names it. With a macro of the test it is another, or one that cannot be taken in.
#ifdef MAJOR
#include "torch_aclnn/implement.h"

extern "C" __attribute__((visibility("default"))) const torchAclnnLibrary* torchAclnnHostLibrary(void) {
    static const torchAclnnLibrary library{MAJOR, 0, 0, nullptr};
    return &library;
}
#else
#include <stdexcept>

#include "torch_aclnn/implement.hpp"

namespace {

[[maybe_unused]] void multiply(const torchAclnnValue* values, float factor) {
    const torchAclnnTensor &self = *values[0].tensors, &out = *values[2].tensors;
    if (self.dataType != ACL_FLOAT || self.rank != 1 || out.sizes[0] != self.sizes[0])
        throw std::invalid_argument("self: expected FLOAT of one dimension");
    for (int64_t i = 0; i < self.sizes[0]; ++i)
        static_cast<float*>(out.data)[i * out.strides[0]] =
            factor * static_cast<const float*>(self.data)[i * self.strides[0]] + static_cast<float>(values[1].numbers->real);
}

}  // namespace

#if defined(TAKEN)
TORCH_ACLNN_IMPLEMENT(aclnnAdd, "Tensor self, Tensor other, Scalar alpha, Tensor(a!) out") {}
#elif defined(BAD)
TORCH_ACLNN_IMPLEMENT(aclnnNothing, "Tensor self") {}
#elif defined(THRICE)
TORCH_ACLNN_IMPLEMENT(aclnnThrice, "Tensor self, float more, Tensor(a!) out") {
    multiply(values, 3);
}
#else
TORCH_ACLNN_IMPLEMENT(aclnnTwice, "Tensor self, float more, Tensor(a!) out", uint64_t{1} << ACL_FLOAT) {
    multiply(values, 2);
}
TORCH_ACLNN_IMPLEMENT(aclnnNegate, "Tensor self, float more, Tensor(a!) out") {
    multiply(values, -1);
}
#endif
#endif
