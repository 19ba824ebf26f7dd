// aclnnAvgPool2dBackward of a device that is right without being the engine, or of one that is wrong. BITS: the last bit of every second
// call is another one, where the condition holds; IN_FLOAT16: the rows of the gradient are added in float16; FACTOR: all is multiplied by
// it.
#include <c10/util/BFloat16.h>
#include <c10/util/Half.h>

#include <algorithm>
#include <atomic>
#include <limits>
#include <vector>

#include "acl/acl.h"
#include "torch_aclnn/custom_operator.hpp"

#ifndef BITS
#define BITS false
#endif
#ifndef FACTOR
#define FACTOR 1.0
#endif
#ifdef IN_FLOAT16
using Sum = c10::Half;
#else
using Sum = double;
#endif

namespace {

std::atomic<int> calls;

[[maybe_unused]] bool is_deterministic() {
    int64_t value = 0;
    return aclrtCtxGetSysParamOpt(ACL_OPT_DETERMINISTIC, &value) == ACL_SUCCESS && value == 1;
}

struct Window {
    int64_t kernel, stride, padding;

    int64_t begin(int64_t i) const { return std::max<int64_t>(i * stride - padding, 0); }
    int64_t end(int64_t i, int64_t size) const { return std::min(i * stride - padding + kernel, size); }
    // With the padding on both sides.
    int64_t padded(int64_t i, int64_t size) const {
        return std::min(i * stride - padding + kernel, size + padding) - (i * stride - padding);
    }
};

struct Pooling {
    Window rows, columns;
    bool counts_padding;
    int64_t divisor;
};

template <class Element>
void compute(const Pooling& pooling, const torchAclnnTensor& gradient, const torchAclnnTensor& out) {
    const int64_t height = out.sizes[out.rank - 2], width = out.sizes[out.rank - 1], last = out.rank - 1;
    const int64_t batches = out.rank == 4 ? out.sizes[0] : 1;
    const bool is_other = (BITS) && calls++ % 2 == 1;
    const double factor = FACTOR * (is_other ? 1 + static_cast<double>(std::numeric_limits<Element>::epsilon()) : 1);
    for (int64_t plane = 0; plane < batches * out.sizes[last - 2]; ++plane) {
        const auto first = [&](const torchAclnnTensor& tensor) {
            const int64_t channels = out.sizes[last - 2];
            return static_cast<Element*>(tensor.data) + plane % channels * tensor.strides[last - 2] +
                   (out.rank == 4 ? plane / channels * tensor.strides[0] : 0);
        };
        std::vector<Sum> sums(height * width);
        for (int64_t y = 0; y < gradient.sizes[last - 1]; ++y) {
            std::vector<double> of_row(height * width);
            for (int64_t x = 0; x < gradient.sizes[last]; ++x) {
                const int64_t top = pooling.rows.begin(y), bottom = pooling.rows.end(y, height);
                const int64_t left = pooling.columns.begin(x), right = pooling.columns.end(x, width);
                int64_t divisor = (bottom - top) * (right - left);
                if (pooling.counts_padding) divisor = pooling.rows.padded(y, height) * pooling.columns.padded(x, width);
                if (pooling.divisor != 0) divisor = pooling.divisor;
                const double value = static_cast<double>(first(gradient)[y * gradient.strides[last - 1] + x * gradient.strides[last]]);
                for (int64_t i = top; i < bottom; ++i)
                    for (int64_t j = left; j < right; ++j) of_row[i * width + j] += value / static_cast<double>(divisor);
            }
            for (size_t i = 0; i < sums.size(); ++i) sums[i] = sums[i] + static_cast<Sum>(of_row[i]);
        }
        for (int64_t i = 0; i < height; ++i)
            for (int64_t j = 0; j < width; ++j)
                first(out)[i * out.strides[last - 1] + j * out.strides[last]] =
                    static_cast<Element>(static_cast<double>(sums[i * width + j]) * factor);
    }
}

Window window(const aclIntArray* kernel, const aclIntArray* stride, const aclIntArray* padding, uint64_t dim) {
    const auto value = [dim](const aclIntArray* array) {
        const std::vector<int64_t> values = torch_aclnn::elements<int64_t>(array);
        return values.empty() ? 0 : values[values.size() == 1 ? 0 : dim];
    };
    return {value(kernel), value(stride) != 0 ? value(stride) : value(kernel), value(padding)};
}

}  // namespace

extern "C" __attribute__((visibility("default"))) aclnnStatus aclnnAvgPool2dBackwardGetWorkspaceSize(
    const aclTensor* gradOutput, const aclTensor* self, const aclIntArray* kernelSize, const aclIntArray* stride,
    const aclIntArray* padding, bool, bool countIncludePad, int64_t divisorOverride, int8_t, aclTensor* gradInput, uint64_t* workspaceSize,
    aclOpExecutor** executor) {
    const Pooling pooling{window(kernelSize, stride, padding, 0), window(kernelSize, stride, padding, 1), countIncludePad, divisorOverride};
    const auto run = [pooling](const torchAclnnTensor* tensors) {
        const auto& compute_type = tensors[2].dataType == ACL_FLOAT     ? compute<float>
                                   : tensors[2].dataType == ACL_FLOAT16 ? compute<c10::Half>
                                                                        : compute<c10::BFloat16>;
        compute_type(pooling, tensors[0], tensors[2]);
    };
    return torch_aclnn::first_phase("aclnnAvgPool2dBackward", {{"gradOutput", gradOutput}, {"self", self}, {"gradInput", gradInput}}, run,
                                    workspaceSize, executor);
}
TORCH_ACLNN_SECOND_PHASE(aclnnAvgPool2dBackward)
