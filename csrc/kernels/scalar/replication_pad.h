// Replication padding backward, one real number at a time, in the order of the definition.
#pragma once

#include "kernels/scalar/rows.h"

namespace torch_aclnn::kernels::scalar {

template <class T>
class ReplicationPad {
   public:
    using S = typename Accumulator<T>::type;

    explicit ReplicationPad(const ReplicationPadJob& job) : job_(job) {}

    void run(int64_t begin, int64_t end) const {
        for_rows<T>(job_, begin, end, [&](const T* plane, T* row, int64_t h) {
            for (int64_t w = 0; w < job_.columns.in; ++w)
                for (int64_t i = 0; i < job_.inner; ++i) row[w * job_.grad_input.stride[3] + i] = cell(plane + i, h, w);
        });
    }

   private:
    // A sum of one element is that element, sign of zero included.
    T cell(const T* plane, int64_t h, int64_t w) const {
        const AxisTable& columns = job_.columns;
        if (columns.first[w] == columns.last[w] || job_.rows.first[h] == job_.rows.last[h]) return T(0.0f);
        S sum = column_of_rows(plane, h, columns.first[w]);
        for (int64_t o = columns.first[w] + 1; o < columns.last[w]; ++o) sum += column_of_rows(plane, h, o);
        return static_cast<T>(sum);
    }

    S column_of_rows(const T* plane, int64_t h, int64_t column) const {
        const auto at = [&](int64_t o) {
            return static_cast<S>(plane[o * job_.grad_output.stride[2] + column * job_.grad_output.stride[3]]);
        };
        S sum = at(job_.rows.first[h]);
        for (int64_t o = job_.rows.first[h] + 1; o < job_.rows.last[h]; ++o) sum += at(o);
        return sum;
    }

    const ReplicationPadJob& job_;
};

inline void replication_pad(const ReplicationPadJob& job, int64_t begin, int64_t end, void*) {
    visit_floating(job.grad_input.dtype, [&](auto tag) { ReplicationPad<typename decltype(tag)::type>(job).run(begin, end); });
}

}  // namespace torch_aclnn::kernels::scalar
