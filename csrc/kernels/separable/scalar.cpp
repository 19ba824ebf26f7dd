// The definition, one number at a time: the order of the sums, and where they are rounded, are those of all loops.
#include "kernels/separable/strategies.h"
#include "kernels/support/parallel.h"

namespace torch_aclnn::kernels {
namespace {

template <class T>
class Scalar {
   public:
    using S = typename Accumulator<T>::type;

    explicit Scalar(const Problem& problem) : problem_(problem), scales_() {
        if (problem.pools()) scales_ = problem.scales<S>();
        for (int d = 0; d < 3; ++d) axes_[d] = problem.axis(d).table(scales_[d].empty() ? nullptr : scales_[d].data());
        for (int64_t o = 0; o < axes_[1].out; ++o) row_offsets_.push_back(row_offset(o));
    }

    // Rows are counted over n, c, d, h.
    void run(int64_t begin, int64_t end) const {
        const View<5>&in = problem_.target, &out = problem_.source;
        const int64_t rows = in.size[2] * in.size[3];
        for (int64_t row = begin; row < end; ++row) {
            const int64_t r = row % rows, c = row / rows % in.size[1], n = row / rows / in.size[1], d = r / in.size[3], h = r % in.size[3];
            const T* volume = static_cast<const T*>(out.data) + n * out.stride[0] + c * out.stride[1];
            T* target = static_cast<T*>(in.data) + n * in.stride[0] + c * in.stride[1] + d * in.stride[2] + h * in.stride[3];
            for (int64_t w = 0; w < in.size[4]; ++w)
                for (int64_t i = 0; i < problem_.inner; ++i)
                    target[w * in.stride[4] + i] = problem_.pools() ? cell(volume + i, d, h, w) : cell(volume + i, 0, r, w);
        }
    }

   private:
    // Returns the offset of a row; the axis of rows of a padding has those of all depths.
    int64_t row_offset(int64_t o) const {
        const View<5>& out = problem_.source;
        if (problem_.pools()) return o * out.stride[3];
        return o / out.size[3] * out.stride[2] + o % out.size[3] * out.stride[3];
    }

    T cell(const T* volume, int64_t d, int64_t h, int64_t w) const {
        return static_cast<T>(sum(axes_[2], w, [&](int64_t ow) {
            return sum(axes_[1], h, [&](int64_t oh) {
                const T* const cells = volume + row_offsets_[oh] + ow * problem_.source.stride[4];
                return sum(axes_[0], d, [&](int64_t od) { return static_cast<S>(cells[od * problem_.source.stride[2]]); });
            });
        }));
    }

    // A padding's sum of one element is that element, sign of zero included. Sums of pooling begin with a zero.
    S sum(const AxisTable& axis, int64_t i, const auto& value) const {
        S sum = 0;
        for (int64_t term = axis.first[i]; term < axis.last[i]; ++term) {
            const int64_t o = axis.index(term);
            const S scaled = axis.scale == nullptr ? value(o) : value(o) * *axis.scale_from<S>(o);
            sum = term == axis.first[i] && !problem_.pools() ? scaled : sum + scaled;
        }
        return sum;
    }

    const Problem& problem_;
    std::array<std::vector<S>, 3> scales_;
    AxisTable axes_[3];
    std::vector<int64_t> row_offsets_;
};

}  // namespace

void run_scalar(const Problem& problem, int thread_count) {
    visit_floating(problem.dtype(), [&](auto tag) {
        const Scalar<typename decltype(tag)::type> loop(problem);
        const View<5>& in = problem.target;
        const int64_t rows = in.size[0] * in.size[1] * in.size[2] * in.size[3];
        parallel_for(rows, kCostOfSum * in.size[4], thread_count, [&](int64_t begin, int64_t end) { loop.run(begin, end); });
    });
}

}  // namespace torch_aclnn::kernels
