// What the entry points of the 2-D paddings' gradients have in common.
#pragma once

#include <memory>

#include "engine/opapi/checks.h"

namespace torch_aclnn::host {

// BF16 is listed by no document; torch_npu's own gradients pass it.
constexpr DTypes kPaddingDTypes = FLOATING | DOUBLE | COMPLEX;

struct PaddingArguments {
    Named grad_output, self, grad_input;
    NamedPointer<aclIntArray> padding;  // left, right, top, bottom
};

// The kernel takes gradOutput, gradInput, left, top and the number of threads.
using PaddingKernel = void(const kernels::View<4>&, const kernels::View<4>&, int64_t, int64_t, int);

// 161002 unless each padding is less than the size of self that it extends; `reason` ends what the message expects.
void require_padding_below_size(const PaddingArguments& a, const std::string& reason = "");

// The checks of every padding; `require_limits` has those of one alone, and runs before gradOutput's size is compared with the padding.
void check_padding(const char* entry_point, const PaddingArguments& a, void (*require_limits)(const PaddingArguments&));

std::unique_ptr<aclOpExecutor> padding_executor(const char* entry_point, const PaddingArguments& a, PaddingKernel* kernel);

}  // namespace torch_aclnn::host
