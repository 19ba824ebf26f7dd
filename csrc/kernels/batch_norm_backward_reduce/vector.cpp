// Batch norm's sums, in one pass over both inputs.
#include "kernels/batch_norm_backward_reduce/job.h"
#include "kernels/simd/lanes.h"

namespace torch_aclnn::kernels::KERNEL_ISA {
namespace {

// The sums of a channel fill kParts vectors.
constexpr int kSums = BatchNormSumsJob::kSums, N = kLanes<double>, kParts = kSums / N;

struct Sums {
    Vector<double, N> parts[kParts] = {};

    double total() const {
        double all = 0;
        for (const auto& part : parts)
            for (int i = 0; i < N; ++i) all += part[i];
        return all;
    }
    double& operator[](int64_t i) { return reinterpret_cast<double*>(parts)[i]; }
};

inline Vector<double, N> load_doubles(const auto* source) {
    return convert<double, N>(load<N>(source));
}

template <class T>
void sum_channel(const BatchNormSumsJob& job, int64_t c) {
    const int64_t inner = job.input.size[2], whole = inner / kSums * kSums;
    const double mean = job.mean[c];
    Sums dy_sums, dy_xmu_sums;
    for (int64_t n = 0; n < job.input.size[0]; ++n) {
        const T* dy = static_cast<const T*>(job.grad_out.data) + n * job.grad_out.stride[0] + c * job.grad_out.stride[1];
        const T* x = static_cast<const T*>(job.input.data) + n * job.input.stride[0] + c * job.input.stride[1];
        for (int64_t i = 0; i < whole; i += kSums)
            for (int part = 0; part < kParts; ++part) {
                const auto gradient = load_doubles(dy + i + part * N);
                dy_sums.parts[part] += gradient;
                dy_xmu_sums.parts[part] += gradient * (load_doubles(x + i + part * N) - mean);
            }
        for (int64_t i = whole; i < inner; ++i) {
            const double gradient = load<1>(dy + i);
            dy_sums[i - whole] += gradient;
            dy_xmu_sums[i - whole] += gradient * (load<1>(x + i) - mean);
        }
    }
    job.sum_dy[c] = dy_sums.total();
    job.sum_dy_xmu[c] = dy_xmu_sums.total();
}

}  // namespace

void batch_norm_sums(const BatchNormSumsJob& job, int64_t begin, int64_t end) {
    visit_sums(job.input.dtype, [&](auto element) {
        for (int64_t c = begin; c < end; ++c) sum_channel<decltype(element)>(job, c);
    });
}

}  // namespace torch_aclnn::kernels::KERNEL_ISA
