// The element-wise part of batch norm's backward, in one pass over its two inputs.
#pragma once

#include "kernels/vector/loop.h"
#include "kernels/vector/sink.h"

namespace torch_aclnn::kernels::KERNEL_ISA {

template <class S>
class BatchNormPass {
   public:
    BatchNormPass(const BatchNormJob& job, void* scratch)
        : job_(job), grad_out_(static_cast<S*>(scratch)), input_(grad_out_ + kBlock), sink_(input_ + kBlock, job.sink_bytes, job.stream) {}

    void run(int64_t begin, int64_t end) {
        const int row = job_.loop.rank - 1;
        for_row_pieces(job_.loop, begin, end, [&](int64_t* position, int64_t count) {
            for (const int64_t stop = position[row] + count; position[row] < stop; position[row] += kBlock)
                visit_sums(job_.grad_input.dtype,
                           [&](auto element) { compute_block<decltype(element)>(position, smaller(kBlock, stop - position[row])); });
        });
    }

   private:
    static constexpr int64_t kBlock = BatchNormJob::kBlock;

    // T is grad_input's type.
    template <class T>
    void compute_block(const int64_t* position, int64_t count) {
        const int row = job_.loop.rank - 1;
        T* target = address<T>(job_.loop, job_.grad_input, position);
        const int64_t step = job_.grad_input.stride[row];
        T strided[kBlock];
        T* result = step == 1 ? sink_.room(target, count) : strided;
        compute_into(result, position, count);
        if (step != 1)
            for (int64_t i = 0; i < count; ++i) target[i * step] = result[i];
    }

    template <class T>
    void compute_into(T* result, const int64_t* position, int64_t count) const {
        const int64_t channel = offset(job_.loop, position, job_.channel_stride);
        if constexpr (sizeof(Sum<T>) == sizeof(S))
            if (is_adjacent<T>(job_.grad_out) && is_adjacent<T>(job_.input))
                return compute(result, address<const T>(job_.loop, job_.grad_out, position),
                               address<const T>(job_.loop, job_.input, position), channel, count);
        compute(result, widened(job_.grad_out, position, count, grad_out_), widened(job_.input, position, count, input_), channel, count);
    }

    // `Source` is T, or the type of the computation.
    template <class T, class Source>
    void compute(T* result, const Source* grad_out, const Source* input, int64_t channel, int64_t count) const {
        const auto* mean = static_cast<const S*>(job_.mean) + channel;
        const auto* mean_dy = static_cast<const S*>(job_.mean_dy) + channel;
        const auto* slope = static_cast<const S*>(job_.slope) + channel;
        const auto* scale = static_cast<const S*>(job_.scale) + channel;
        if (job_.channel_stride[job_.loop.rank - 1] == 1) {
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

    template <int N, class T>
    static void store_as(T* target, Vector<S, N> value) {
        store<N>(target, __builtin_convertvector(value, Vector<Sum<T>, N>));
    }

    template <class T>
    bool is_adjacent(const LoopOperand& operand) const {
        return operand.dtype == job_.grad_input.dtype && operand.stride[job_.loop.rank - 1] == 1;
    }

    // Any dtype and stride, as the type of the computation.
    const S* widened(const LoopOperand& operand, const int64_t* position, int64_t count, S* buffer) const {
        const int64_t stride = operand.stride[job_.loop.rank - 1];
        visit_sums(operand.dtype, [&](auto element) {
            using T = decltype(element);
            const T* source = address<const T>(job_.loop, operand, position);
            for_lanes<Sum<T>>(count, [=](auto width, int64_t i) {
                constexpr int N = decltype(width)::value;
                const auto value = stride == 1 ? load<N>(source + i) : load_strided<N, false>(source + i * stride, stride);
                store_bytes(buffer + i, __builtin_convertvector(value, Vector<S, N>));
            });
        });
        return buffer;
    }

    const BatchNormJob& job_;
    S *grad_out_, *input_;
    Sink sink_;
};

inline void batch_norm(const BatchNormJob& job, int64_t begin, int64_t end, void* scratch) {
    if (job.input.dtype == DType::float64)
        BatchNormPass<double>(job, scratch).run(begin, end);
    else
        BatchNormPass<float>(job, scratch).run(begin, end);
}

}  // namespace torch_aclnn::kernels::KERNEL_ISA
