// The axes of separable sums.
#pragma once

#include <cstdint>

namespace torch_aclnn::kernels {

// What a loop reads of an axis: index i of grad_input is the sum over the terms [first[i], last[i]), of which each is an index of
// grad_output, source[term], or `term` itself where source is null, times scale[index], or one where scale is null. [i, run_end[i]) is a
// run of indices with the same terms, of windows only.
struct AxisTable {
    int64_t in, out;
    const int64_t* first;
    const int64_t* last;
    const int64_t* source;
    const int64_t* run_end;
    const void* scale;  // a scale, in the type of the sums

    int64_t index(int64_t term) const { return source == nullptr ? term : source[term]; }
    int64_t terms(int64_t i) const { return last[i] - first[i]; }
    template <class S>
    const S* scale_from(int64_t index) const {
        return scale == nullptr ? nullptr : static_cast<const S*>(scale) + index;
    }
};

}  // namespace torch_aclnn::kernels
