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
        const int64_t window = job.rows.first[h];
        const S scale = job.rows.scale == nullptr ? 1 : static_cast<const S*>(job.rows.scale)[window];
        const S value = static_cast<S>(plane[window * job.grad_output.stride[2]]) * scale * *static_cast<const S*>(job.column_scale);
        std::fill_n(row, job.grad_input.size[3], static_cast<T>(value + S{0}));
    });
}

}  // namespace

void full_width_windows(const FullWidthJob& job, int64_t begin, int64_t end) {
    visit_floating(job.grad_input.dtype, [&](auto tag) { fill_rows<typename decltype(tag)::type>(job, begin, end); });
}

}  // namespace torch_aclnn::kernels::scalar
