// A library of entry points as torch_npu finds it by ASCEND_CUSTOM_OPP_PATH: one in the place of the engine's, and one that the engine does
// not have. With a macro of the test it uses what only CANN has.
#include <cmath>
#include <stdexcept>

#include "torch_aclnn/custom_operator.hpp"

#define EXPORT extern "C" __attribute__((visibility("default")))

#ifdef OF_CANN
EXPORT int aclnnInnerOfCann();
#endif

EXPORT aclnnStatus aclnnGeluMulGetWorkspaceSize(const aclTensor* input, char* approximate, aclTensor* out, uint64_t* workspaceSize,
                                                aclOpExecutor** executor) {
    const auto compute = [is_exact = approximate[0] == 'n'](const torchAclnnTensor* tensors) {
        const torchAclnnTensor &input = tensors[0], &out = tensors[1];
        if (input.dataType != ACL_FLOAT || input.rank != 2) throw std::invalid_argument("input: expected FLOAT of two dimensions");
        if (!is_exact) throw std::invalid_argument("approximate: expected none");
        const auto* const from = static_cast<const float*>(input.data);
        auto* const to = static_cast<float*>(out.data);
        for (int64_t row = 0; row < out.sizes[0]; ++row)
            for (int64_t i = 0; i < out.sizes[1]; ++i) {
                const double x = from[row * input.strides[0] + i * input.strides[1]];
                const double factor = from[row * input.strides[0] + (i + out.sizes[1]) * input.strides[1]];
                to[row * out.strides[0] + i * out.strides[1]] = static_cast<float>(x * 0.5 * (1 + std::erf(x / std::sqrt(2.0))) * factor);
            }
    };
    return torch_aclnn::first_phase("aclnnGeluMul", {{"input", input}, {"out", out}}, compute, workspaceSize, executor);
}
TORCH_ACLNN_SECOND_PHASE(aclnnGeluMul)

EXPORT aclnnStatus aclnnTwiceGetWorkspaceSize(const aclTensor* self, aclTensor* out, uint64_t* workspaceSize, aclOpExecutor** executor) {
#ifdef OF_CANN
    if (aclnnInnerOfCann() != 0) return ACLNN_ERR_INNER;
#endif
    const auto compute = [](const torchAclnnTensor* tensors) {
        for (int64_t i = 0; i < tensors[0].sizes[0]; ++i)
            static_cast<float*>(tensors[1].data)[i * tensors[1].strides[0]] =
                2 * static_cast<const float*>(tensors[0].data)[i * tensors[0].strides[0]];
    };
    return torch_aclnn::first_phase("aclnnTwice", {{"self", self}, {"out", out}}, compute, workspaceSize, executor);
}
TORCH_ACLNN_SECOND_PHASE(aclnnTwice)
