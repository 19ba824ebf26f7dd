// Padding backward, one real number at a time, in the order of the definition.
#include "kernels/padding/job.h"

namespace torch_aclnn::kernels::scalar {
namespace {

template <class T>
class Padding {
   public:
    using S = typename Accumulator<T>::type;

    explicit Padding(const PaddingJob& job) : job_(job) {}

    void run(int64_t begin, int64_t end) const {
        const View<5>&in = job_.grad_input, &out = job_.grad_output;
        const int64_t rows = in.size[2] * in.size[3];
        for (int64_t row = begin; row < end; ++row) {
            const int64_t r = row % rows, c = row / rows % in.size[1], n = row / rows / in.size[1];
            const T* volume = static_cast<const T*>(out.data) + n * out.stride[0] + c * out.stride[1];
            T* target = static_cast<T*>(in.data) + n * in.stride[0] + c * in.stride[1] + r / in.size[3] * in.stride[2] + r % in.size[3] * in.stride[3];
            for (int64_t w = 0; w < job_.columns.in; ++w)
                for (int64_t i = 0; i < job_.inner; ++i) target[w * in.stride[4] + i] = cell(volume + i, r, w);
        }
    }

   private:
    // A sum of one element is that element, sign of zero included.
    T cell(const T* volume, int64_t row, int64_t w) const {
        const SourceTable& columns = job_.columns;
        const int64_t first = columns.begin[w], last = columns.begin[w + 1];
        if (first == last || job_.row_begin[row] == job_.row_begin[row + 1]) return T(0.0f);
        S sum = column_of_rows(volume, row, columns.source[first]);
        for (int64_t k = first + 1; k < last; ++k) sum += column_of_rows(volume, row, columns.source[k]);
        return static_cast<T>(sum);
    }

    S column_of_rows(const T* volume, int64_t row, int64_t column) const {
        const auto at = [&](int64_t k) { return static_cast<S>(volume[job_.row_source[k] + column * job_.grad_output.stride[4]]); };
        S sum = at(job_.row_begin[row]);
        for (int64_t k = job_.row_begin[row] + 1; k < job_.row_begin[row + 1]; ++k) sum += at(k);
        return sum;
    }

    const PaddingJob& job_;
};

}  // namespace

void padding(const PaddingJob& job, int64_t begin, int64_t end, void*) {
    visit_floating(job.grad_input.dtype, [&](auto tag) { Padding<typename decltype(tag)::type>(job).run(begin, end); });
}

}  // namespace torch_aclnn::kernels::scalar
