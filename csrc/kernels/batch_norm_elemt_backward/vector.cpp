// The element-wise part of batch norm's backward, in one pass over its two inputs.
#include "kernels/batch_norm_elemt_backward/job.h"
#include "kernels/simd/line_stream.h"
#include "kernels/simd/row_pieces.h"

namespace torch_aclnn::kernels::KERNEL_ISA {
namespace {

// T is grad_input's type. The computation is in that of its sums, which must be input's too.
template <class T>
class BatchNormPass {
   public:
    using S = Sum<T>;

    BatchNormPass(const BatchNormJob& job, void* scratch)
        : job_(job), grad_out_(static_cast<S*>(scratch)), input_(grad_out_ + kBlock), results_(reinterpret_cast<T*>(input_ + kBlock)) {}

    void run(int64_t begin, int64_t end) {
        if (reads_in_place<T>()) return run_in_place<T>(begin, end);
        if (reads_in_place<S>()) return run_in_place<S>(begin, end);
        if constexpr (std::is_same_v<T, float>) {
            if (reads_in_place<BFloat16>()) return run_in_place<BFloat16>(begin, end);
            if (reads_in_place<Half>()) return run_in_place<Half>(begin, end);
        }
        for_pieces(begin, end, [&](T* result, int64_t grad_out, int64_t input, int64_t channel, int64_t count) {
            compute(result, upcast(job_.grad_out, grad_out, count, grad_out_), upcast(job_.input, input, count, input_), channel, count);
        });
    }

   private:
    static constexpr int64_t kBlock = BatchNormJob::kBlock;

    // Whether the elements of both inputs are adjacent, input has the result's dtype, and grad_out has the dtype Gradient.
    template <class Gradient>
    bool reads_in_place() const {
        return job_.grad_out.stride[row_] == 1 && job_.input.stride[row_] == 1 && job_.input.dtype == job_.grad_input.dtype &&
               job_.grad_out.dtype == kDType<Gradient>;
    }

    template <class Gradient>
    void run_in_place(int64_t begin, int64_t end) {
        const auto run_pieces = [&](int64_t from, int64_t to) {
            for_pieces(from, to, [&](T* result, int64_t grad_out, int64_t input, int64_t channel, int64_t count) {
                compute(result, static_cast<const Gradient*>(job_.grad_out.data) + grad_out, static_cast<const T*>(job_.input.data) + input,
                        channel, count);
            });
        };
        const int64_t size = job_.loop.size[row_], first = (begin + size - 1) / size, last = end / size;
        if (!has_rows_of_a_channel() || first >= last) return run_pieces(begin, end);
        run_pieces(begin, first * size);
        streams_ ? run_rows<true, Gradient>(first, last) : run_rows<false, Gradient>(first, last);
        run_pieces(last * size, end);
    }

    // Each row is of one channel, and its results are written at once.
    bool has_rows_of_a_channel() const {
        return row_ > 0 && job_.channel_stride[row_] == 0 && job_.grad_input.stride[row_] == 1 && !job_.buffered;
    }

    // Computes the rows [first, last). What they share is looked up once, because that takes nearly as long as a short row.
    template <bool kStreams, class Gradient>
    void run_rows(int64_t first, int64_t last) {
        Loop rows = job_.loop;
        rows.rank = row_;
        const int64_t* const strides[] = {job_.grad_out.stride, job_.input.stride, job_.grad_input.stride, job_.channel_stride};
        const int64_t size = job_.loop.size[row_], grad_out_step = strides[0][row_ - 1], input_step = strides[1][row_ - 1],
                      step = strides[2][row_ - 1], channel_step = strides[3][row_ - 1];
        for_row_pieces(rows, strides, first, last, [=, this](const int64_t* offsets, int64_t count) {
            const auto* grad_out = static_cast<const Gradient*>(job_.grad_out.data) + offsets[0];
            const auto* input = static_cast<const T*>(job_.input.data) + offsets[1];
            auto* result = static_cast<T*>(job_.grad_input.data) + offsets[2];
            const auto *mean = static_cast<const S*>(job_.mean) + offsets[3], *mean_dy = static_cast<const S*>(job_.mean_dy) + offsets[3],
                       *slope = static_cast<const S*>(job_.slope) + offsets[3], *scale = static_cast<const S*>(job_.scale) + offsets[3];
            for (int64_t row = 0; row < count; ++row) {
                const int64_t c = row * channel_step;
                compute_row<kStreams>(result, grad_out, input, {mean[c], mean_dy[c], slope[c], scale[c]}, size);
                grad_out += grad_out_step;
                input += input_step;
                result += step;
            }
        });
    }

    // Calls body(result, grad_out, input, channel, count), with where the elements and their channels begin, for kBlock elements at most.
    void for_pieces(int64_t begin, int64_t end, const auto& body) {
        const int64_t* const strides[] = {job_.grad_out.stride, job_.input.stride, job_.grad_input.stride, job_.channel_stride};
        const int64_t grad_out_step = job_.grad_out.stride[row_], input_step = job_.input.stride[row_];
        const int64_t step = job_.grad_input.stride[row_], channel_step = job_.channel_stride[row_];
        for_row_pieces(job_.loop, strides, begin, end, [&](const int64_t* offsets, int64_t piece) {
            for (int64_t i = 0; i < piece; i += kBlock) {
                const int64_t count = smaller(kBlock, piece - i);
                T* const target = static_cast<T*>(job_.grad_input.data) + offsets[2] + i * step;
                T* const result = step != 1 || job_.buffered ? results_ : target;
                body(result, offsets[0] + i * grad_out_step, offsets[1] + i * input_step, offsets[3] + i * channel_step, count);
                if (result == results_) write_block(target, step, count);
            }
        });
    }

    void write_block(T* target, int64_t step, int64_t count) const {
        if (step == 1) return copy_elements(target, results_, count);
        for (int64_t k = 0; k < count; ++k) target[k * step] = results_[k];
    }

    template <int N, class Source>
    static Vector<S, N> load_as(const Source* source) {
        return convert<S, N>(load<N>(source));
    }

    void compute(T* result, const auto* grad_out, const auto* input, int64_t channel, int64_t count) {
        streams_ ? compute_piece<true>(result, grad_out, input, channel, count)
                 : compute_piece<false>(result, grad_out, input, channel, count);
    }

    template <bool kStreams, class Gradient, class Input>
    void compute_piece(T* result, const Gradient* grad_out, const Input* input, int64_t channel, int64_t count) {
        const auto* mean = static_cast<const S*>(job_.mean) + channel;
        const auto* mean_dy = static_cast<const S*>(job_.mean_dy) + channel;
        const auto* slope = static_cast<const S*>(job_.slope) + channel;
        const auto* scale = static_cast<const S*>(job_.scale) + channel;
        if (job_.channel_stride[row_] != 1) return compute_row<kStreams>(result, grad_out, input, {*mean, *mean_dy, *slope, *scale}, count);
        write<kStreams>(result, count, [=](auto width, int64_t i) {
            constexpr int N = decltype(width)::value;
            const auto centred = load_as<N>(input + i) - load<N>(mean + i);
            const auto bracket = (load_as<N>(grad_out + i) - load<N>(mean_dy + i)) - centred * load<N>(slope + i);
            return bracket * load<N>(scale + i);
        });
    }

    struct Channel {
        S mean, mean_dy, slope, scale;
    };

    template <bool kStreams, class Gradient, class Input>
    void compute_row(T* result, const Gradient* grad_out, const Input* input, const Channel& channel, int64_t count) {
        const auto [m, d, b, a] = channel;
        write<kStreams>(result, count, [=, m = m, d = d, b = b, a = a](auto width, int64_t i) {
            constexpr int N = decltype(width)::value;
            return ((load_as<N>(grad_out + i) - d) - (load_as<N>(input + i) - m) * b) * a;
        });
    }

    // Writes results, of which value(width, i) gives those from i on. It is inlined, so that what it holds stays in registers for short
    // rows.
    template <bool kStreams, class Value>
    __attribute__((always_inline)) void write(T* result, int64_t count, const Value& value) {
        if constexpr (kStreams)
            stream_.template write<kLanes<S>>(result, count, value);
        else
            for_lanes<S>(count, [=](auto width, int64_t i) { store<decltype(width)::value>(result + i, value(width, i)); });
    }

    // Reads elements of any dtype and stride as the type of the computation.
    const S* upcast(const LoopOperand& operand, int64_t offset, int64_t count, S* buffer) const {
        const int64_t stride = operand.stride[row_];
        visit_sums(operand.dtype, [&](auto element) {
            using Source = decltype(element);
            const Source* source = static_cast<const Source*>(operand.data) + offset;
            for_lanes<Sum<Source>>(count, [=](auto width, int64_t i) {
                constexpr int N = decltype(width)::value;
                const auto value = stride == 1 ? load<N>(source + i) : load_strided<N, false>(source + i * stride, stride);
                store_bytes(buffer + i, convert<S, N>(value));
            });
        });
        return buffer;
    }

    const BatchNormJob& job_;
    const int row_ = job_.loop.rank - 1;
    // Results go around the caches as they are computed.
    const bool streams_ = job_.stream && !job_.buffered && job_.grad_input.stride[row_] == 1;
    S *grad_out_, *input_;
    T* results_;
    LineStream stream_;
};

}  // namespace

void batch_norm(const BatchNormJob& job, int64_t begin, int64_t end, void* scratch) {
    visit_sums(job.grad_input.dtype, [&](auto element) { BatchNormPass<decltype(element)>(job, scratch).run(begin, end); });
}

}  // namespace torch_aclnn::kernels::KERNEL_ISA
