// Average pooling backward of volumes, one cell at a time, in the order of the definition.
#include "kernels/separable/volumes_job.h"

namespace torch_aclnn::kernels::scalar {
namespace {

template <class T>
class Volumes {
   public:
    using S = typename Accumulator<T>::type;

    explicit Volumes(const VolumesJob& job) : job_(job) {}

    void run(int64_t begin, int64_t end) const {
        const View<5>&in = job_.grad_input, &out = job_.grad_output;
        for (int64_t plane = begin; plane < end; ++plane) {
            const int64_t d = plane % in.size[2], c = plane / in.size[2] % in.size[1], n = plane / in.size[2] / in.size[1];
            const T* source = static_cast<const T*>(out.data) + n * out.stride[0] + c * out.stride[1];
            T* target = static_cast<T*>(in.data) + n * in.stride[0] + c * in.stride[1] + d * in.stride[2];
            for (int64_t h = 0; h < in.size[3]; ++h)
                for (int64_t w = 0; w < in.size[4]; ++w)
                    for (int64_t i = 0; i < job_.inner; ++i)
                        target[h * in.stride[3] + w * in.stride[4] + i] = static_cast<T>(cell(source + i, d, h, w));
        }
    }

   private:
    S cell(const T* volume, int64_t d, int64_t h, int64_t w) const {
        S sum = 0;
        for (int64_t o = job_.columns.first[w]; o < job_.columns.last[w]; ++o) {
            const T* column = volume + o * job_.grad_output.stride[4];
            sum += scaled_sum(job_.rows, h, [&](int64_t oh) { return of_depth(column + oh * job_.grad_output.stride[3], d); }) *
                   static_cast<const S*>(job_.columns.scale)[o];
        }
        return sum;
    }

    S of_depth(const T* cells, int64_t d) const {
        return scaled_sum(job_.depth, d, [&](int64_t od) { return static_cast<S>(cells[od * job_.grad_output.stride[2]]); });
    }

    // Over the windows of input index i.
    template <class Value>
    static S scaled_sum(const AxisTable& axis, int64_t i, const Value& value) {
        const auto scaled = [&](int64_t o) { return axis.scale == nullptr ? value(o) : value(o) * static_cast<const S*>(axis.scale)[o]; };
        S sum = 0;
        for (int64_t o = axis.first[i]; o < axis.last[i]; ++o) sum += scaled(o);
        return sum;
    }

    const VolumesJob& job_;
};

}  // namespace

void volumes(const VolumesJob& job, int64_t begin, int64_t end, void*) {
    visit_floating(job.grad_input.dtype, [&](auto tag) { Volumes<typename decltype(tag)::type>(job).run(begin, end); });
}

}  // namespace torch_aclnn::kernels::scalar
