// Padding backward, one real number at a time, in the order of the definition.
#include "kernels/padding/job.h"
#include "kernels/scalar/rows.h"

namespace torch_aclnn::kernels::scalar {
namespace {

template <class T>
class Padding {
   public:
    using S = typename Accumulator<T>::type;

    explicit Padding(const PaddingJob& job) : job_(job) {}

    void run(int64_t begin, int64_t end) const {
        for_rows<T>(job_, begin, end, [&](const T* plane, T* row, int64_t h) {
            for (int64_t w = 0; w < job_.columns.in; ++w)
                for (int64_t i = 0; i < job_.inner; ++i) row[w * job_.grad_input.stride[3] + i] = cell(plane + i, h, w);
        });
    }

   private:
    // A sum of one element is that element, sign of zero included.
    T cell(const T* plane, int64_t h, int64_t w) const {
        const SourceTable& columns = job_.columns;
        const int64_t first = columns.begin[w], last = columns.begin[w + 1];
        if (first == last || job_.rows.begin[h] == job_.rows.begin[h + 1]) return T(0.0f);
        S sum = column_of_rows(plane, h, columns.source[first]);
        for (int64_t k = first + 1; k < last; ++k) sum += column_of_rows(plane, h, columns.source[k]);
        return static_cast<T>(sum);
    }

    S column_of_rows(const T* plane, int64_t h, int64_t column) const {
        const SourceTable& rows = job_.rows;
        const auto at = [&](int64_t k) {
            return static_cast<S>(plane[rows.source[k] * job_.grad_output.stride[2] + column * job_.grad_output.stride[3]]);
        };
        S sum = at(rows.begin[h]);
        for (int64_t k = rows.begin[h] + 1; k < rows.begin[h + 1]; ++k) sum += at(k);
        return sum;
    }

    const PaddingJob& job_;
};

}  // namespace

void padding(const PaddingJob& job, int64_t begin, int64_t end, void*) {
    visit_floating(job.grad_input.dtype, [&](auto tag) { Padding<typename decltype(tag)::type>(job).run(begin, end); });
}

}  // namespace torch_aclnn::kernels::scalar
