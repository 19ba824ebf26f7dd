#include "kernels/separable/operators.h"

#include "kernels/separable/choose.h"

namespace torch_aclnn::kernels {

// spec(d) is the AxisSpec of depth, rows or columns.
template <class Spec>
static void run(const View<5>& grad_output, const View<5>& grad_input, int thread_count, const Spec& spec) {
    if (grad_input.empty()) return;  // the sizes of an empty tensor may be any number
    const AxisSpec specs[] = {spec(0), spec(1), spec(2)};
    run_best(Problem(grad_output, grad_input, specs), thread_count);
}

void avg_pool_backward(const View<5>& grad_output, const View<5>& grad_input, const AvgPoolParams& params, int thread_count) {
    run(grad_output, grad_input, thread_count, [&](int d) -> AxisSpec {
        const bool is_divided = params.divisor_override == 0 || d == 1;  // otherwise the rows' windows divide
        return {AxisSpec::Kind::windows, grad_input.size[2 + d], grad_output.size[2 + d],  params.kernel_size[d],
                params.stride[d],        params.padding[d],      params.count_include_pad, is_divided ? params.divisor_override : 1};
    });
}

void adaptive_avg_pool_backward(const View<5>& grad_output, const View<5>& grad_input, int thread_count) {
    run(grad_output, grad_input, thread_count, [&](int d) { return adaptive_spec(grad_input.size[2 + d], grad_output.size[2 + d]); });
}

void pad_backward(Padding padding, const View<5>& grad_output, const View<5>& grad_input, const int64_t (&before)[3], int thread_count) {
    using Kind = AxisSpec::Kind;
    const Kind kind = padding == Padding::replication  ? Kind::replication
                      : padding == Padding::reflection ? Kind::reflection
                                                       : Kind::circular;
    run(grad_output, grad_input, thread_count,
        [&](int d) -> AxisSpec { return {kind, grad_input.size[2 + d], grad_output.size[2 + d], 0, 0, before[d], false, 0}; });
}

}  // namespace torch_aclnn::kernels
