// The element-wise part of batch norm's backward, in one pass over its two inputs.
#include "kernels/batch_norm_elemt_backward/job.h"
#include "kernels/simd/row_pieces.h"
#include "kernels/simd/sink.h"

namespace torch_aclnn::kernels::KERNEL_ISA {
namespace {

// S is the type of the computation, T grad_input's.
template <class S, class T>
class BatchNormPass {
   public:
    BatchNormPass(const BatchNormJob& job, void* scratch)
        : job_(job),
          grad_out_(static_cast<S*>(scratch)),
          input_(grad_out_ + kBlock),
          strided_(reinterpret_cast<T*>(input_ + kBlock)),
          sink_(reinterpret_cast<double*>(input_ + kBlock) + kBlock, job.sink_bytes, job.stream) {}

    void run(int64_t begin, int64_t end) {
        const int64_t* const strides[] = {job_.grad_out.stride, job_.input.stride, job_.grad_input.stride, job_.channel_stride};
        for_row_pieces(job_.loop, strides, begin, end, [&](const int64_t* offsets, int64_t count) {
            for (int64_t i = 0; i < count; i += kBlock) compute_block(offsets, i, smaller(kBlock, count - i));
        });
    }

   private:
    static constexpr int64_t kBlock = BatchNormJob::kBlock;

    // From element i of a piece on.
    void compute_block(const int64_t* offsets, int64_t i, int64_t count) {
        const int64_t step = job_.grad_input.stride[row_];
        T* target = static_cast<T*>(job_.grad_input.data) + offsets[2] + i * step;
        T* result = step == 1 ? sink_.room(target, count) : strided_;
        const int64_t grad_out = offsets[0] + i * job_.grad_out.stride[row_], input = offsets[1] + i * job_.input.stride[row_];
        compute_into(result, grad_out, input, offsets[3] + i * job_.channel_stride[row_], count);
        if (step != 1)
            for (int64_t k = 0; k < count; ++k) target[k * step] = result[k];
    }

    void compute_into(T* result, int64_t grad_out, int64_t input, int64_t channel, int64_t count) const {
        if constexpr (sizeof(Sum<T>) == sizeof(S))
            if (plain_)
                return compute(result, static_cast<const T*>(job_.grad_out.data) + grad_out, static_cast<const T*>(job_.input.data) + input,
                               channel, count);
        compute(result, upcast(job_.grad_out, grad_out, count, grad_out_), upcast(job_.input, input, count, input_), channel, count);
    }

    // `Source` is T, or the type of the computation.
    template <class Source>
    void compute(T* result, const Source* grad_out, const Source* input, int64_t channel, int64_t count) const {
        const auto* mean = static_cast<const S*>(job_.mean) + channel;
        const auto* mean_dy = static_cast<const S*>(job_.mean_dy) + channel;
        const auto* slope = static_cast<const S*>(job_.slope) + channel;
        const auto* scale = static_cast<const S*>(job_.scale) + channel;
        if (job_.channel_stride[row_] == 1) {
            for_lanes<S>(count, [=](auto width, int64_t i) {
                constexpr int N = decltype(width)::value;
                const auto centred = load<N>(input + i) - load<N>(mean + i);
                const auto bracket = (load<N>(grad_out + i) - load<N>(mean_dy + i)) - centred * load<N>(slope + i);
                store_as<N>(result + i, bracket * load<N>(scale + i));
            });
        } else {
            const S m = *mean, d = *mean_dy, b = *slope, a = *scale;
            for_lanes<S>(count, [=](auto width, int64_t i) {
                constexpr int N = decltype(width)::value;
                store_as<N>(result + i, ((load<N>(grad_out + i) - d) - (load<N>(input + i) - m) * b) * a);
            });
        }
    }

    template <int N>
    static void store_as(T* target, Vector<S, N> value) {
        store<N>(target, __builtin_convertvector(value, Vector<Sum<T>, N>));
    }

    bool is_adjacent(const LoopOperand& operand) const { return operand.dtype == job_.grad_input.dtype && operand.stride[row_] == 1; }

    // Any dtype and stride, as the type of the computation.
    const S* upcast(const LoopOperand& operand, int64_t offset, int64_t count, S* buffer) const {
        const int64_t stride = operand.stride[row_];
        visit_sums(operand.dtype, [&](auto element) {
            using Source = decltype(element);
            const Source* source = static_cast<const Source*>(operand.data) + offset;
            for_lanes<Sum<Source>>(count, [=](auto width, int64_t i) {
                constexpr int N = decltype(width)::value;
                const auto value = stride == 1 ? load<N>(source + i) : load_strided<N, false>(source + i * stride, stride);
                store_bytes(buffer + i, __builtin_convertvector(value, Vector<S, N>));
            });
        });
        return buffer;
    }

    const BatchNormJob& job_;
    const int row_ = job_.loop.rank - 1;
    const bool plain_ = is_adjacent(job_.grad_out) && is_adjacent(job_.input);
    S *grad_out_, *input_;
    T* strided_;
    Sink sink_;
};

}  // namespace

void batch_norm(const BatchNormJob& job, int64_t begin, int64_t end, void* scratch) {
    visit_sums(job.grad_input.dtype, [&](auto element) {
        using T = decltype(element);
        if (job.input.dtype == DType::float64)
            BatchNormPass<double, T>(job, scratch).run(begin, end);
        else
            BatchNormPass<float, T>(job, scratch).run(begin, end);
    });
}

}  // namespace torch_aclnn::kernels::KERNEL_ISA
