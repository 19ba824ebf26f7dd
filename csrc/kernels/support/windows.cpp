#include "kernels/support/windows.h"

namespace torch_aclnn::kernels {

void WindowAxis::find_runs() {
    const int64_t in = static_cast<int64_t>(first.size());
    run_end.resize(in);
    for (int64_t i = in - 1; i >= 0; --i) {
        const bool like_next = i + 1 < in && first[i] == first[i + 1] && last[i] == last[i + 1];
        run_end[i] = like_next ? run_end[i + 1] : i + 1;
    }
}

AxisTable WindowAxis::table(int64_t out, const void* scale) const {
    return {static_cast<int64_t>(first.size()), out, first.data(), last.data(), run_end.data(), scale};
}

}  // namespace torch_aclnn::kernels
