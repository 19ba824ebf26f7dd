// Average pooling backward, one cell at a time, in the order of the definition.
#include "kernels/average_pool/job.h"
#include "kernels/scalar/rows.h"

namespace torch_aclnn::kernels::scalar {
namespace {

template <class T>
class AveragePool {
   public:
    using S = typename Accumulator<T>::type;

    explicit AveragePool(const AveragePoolJob& job) : job_(job) {}

    void run(int64_t begin, int64_t end) const {
        for_rows<T>(job_, begin, end, [&](const T* plane, T* row, int64_t h) {
            for (int64_t w = 0; w < job_.columns.in; ++w) row[w * job_.grad_input.stride[3]] = static_cast<T>(cell(plane, h, w));
        });
    }

   private:
    S cell(const T* plane, int64_t h, int64_t w) const {
        const int64_t column = w / job_.inner, number = w % job_.inner;
        S sum = 0;
        for (int64_t o = job_.columns.first[column]; o < job_.columns.last[column]; ++o) {
            const int64_t source = o * job_.inner + number;
            sum += column_of_rows(plane, h, source) * scale(job_.columns, source);
        }
        return sum;
    }

    S column_of_rows(const T* plane, int64_t h, int64_t column) const {
        S sum = 0;
        for (int64_t o = job_.rows.first[h]; o < job_.rows.last[h]; ++o)
            sum += static_cast<S>(plane[o * job_.grad_output.stride[2] + column * job_.grad_output.stride[3]]) * scale(job_.rows, o);
        return sum;
    }

    static S scale(const AxisTable& axis, int64_t o) { return axis.scale == nullptr ? 1 : static_cast<const S*>(axis.scale)[o]; }

    const AveragePoolJob& job_;
};

}  // namespace

void average_pool_planes(const AveragePoolJob& job, int64_t begin, int64_t end, void*) {
    visit_floating(job.grad_input.dtype, [&](auto tag) { AveragePool<typename decltype(tag)::type>(job).run(begin, end); });
}

// Row (n, h) of all channels is one row of each of their planes.
void average_pool_channels(const AveragePoolJob& job, int64_t begin, int64_t end, void* scratch) {
    const int64_t height = job.rows.in, channels = job.grad_input.size[1];
    for (int64_t row = begin; row < end; ++row)
        for (int64_t c = 0; c < channels; ++c) {
            const int64_t of_plane = (row / height * channels + c) * height + row % height;
            average_pool_planes(job, of_plane, of_plane + 1, scratch);
        }
}

}  // namespace torch_aclnn::kernels::scalar
