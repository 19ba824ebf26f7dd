// Full-width windows, one number at a time, in the order of the definition.
#include <algorithm>

#include "kernels/full_width_windows/job.h"
#include "kernels/scalar/rows.h"

namespace torch_aclnn::kernels::scalar {
namespace {

template <class T>
void fill_rows(const FullWidthJob& job, int64_t begin, int64_t end) {
    using S = typename Accumulator<T>::type;
    for_rows<T>(job, begin, end, [&](const T* plane, T* row, int64_t h) {
        S sum = 0;
        for (int64_t window = job.rows.first[h]; window < job.rows.last[h]; ++window) {
            const S scale = job.rows.scale == nullptr ? 1 : static_cast<const S*>(job.rows.scale)[window];
            sum += static_cast<S>(plane[window * job.grad_output.stride[2]]) * scale;
        }
        const S value = sum * *static_cast<const S*>(job.column_scale) + S{0};
        std::fill_n(row, job.grad_input.size[3], static_cast<T>(value));
    });
}

}  // namespace

void full_width_windows(const FullWidthJob& job, int64_t begin, int64_t end) {
    visit_floating(job.grad_input.dtype, [&](auto tag) { fill_rows<typename decltype(tag)::type>(job, begin, end); });
}

}  // namespace torch_aclnn::kernels::scalar
