// Calls the kernels of this machine's instruction set on tensors that end where their memory ends, so that valgrind sees what is read or
// written beyond: `kernels COUNT`, so many calls of each operator.
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>

#include "kernels/adaptive_avg_pool2d_backward/adaptive_avg_pool2d_backward.h"
#include "kernels/adaptive_avg_pool3d_backward/adaptive_avg_pool3d_backward.h"
#include "kernels/avg_pool2d_backward/avg_pool2d_backward.h"
#include "kernels/max_unpool3d_backward/max_unpool3d_backward.h"
#include "kernels/reflection_pad2d_backward/reflection_pad2d_backward.h"
#include "kernels/replication_pad2d_backward/replication_pad2d_backward.h"

using namespace torch_aclnn::kernels;

namespace {

class Draw {
   public:
    int64_t between(int64_t smallest, int64_t largest) { return std::uniform_int_distribution<int64_t>(smallest, largest)(engine_); }
    bool flag() { return between(0, 1) == 1; }

   private:
    std::mt19937_64 engine_{0};
};

// What all tensors of a call have in common.
struct Form {
    DType dtype;
    bool channels_last;
    int64_t samples, channels;

    explicit Form(Draw& draw) : channels_last(draw.flag()), samples(draw.between(1, 20)), channels(draw.between(1, 9)) {
        constexpr DType kTypes[] = {DType::float16, DType::bfloat16, DType::float32, DType::float64};
        dtype = kTypes[draw.between(0, 3)];
    }
};

// Zeros in a block of memory of their own.
template <int Rank>
class Tensor {
   public:
    Tensor(const Form& form, const std::array<int64_t, Rank - 2>& plane, DType dtype)
        : view_{nullptr, dtype, {form.samples, form.channels}, {}} {
        for (int d = 2; d < Rank; ++d) view_.size[d] = plane[d - 2];
        int64_t step = form.channels_last ? form.channels : 1;
        for (int d = Rank - 1; d >= 2; step *= view_.size[d--]) view_.stride[d] = step;
        view_.stride[1] = form.channels_last ? 1 : step;
        view_.stride[0] = form.channels_last ? step : step * form.channels;
        memory_.reset(new char[view_.bytes()]());
        view_.data = memory_.get();
    }
    Tensor(const Form& form, const std::array<int64_t, Rank - 2>& plane) : Tensor(form, plane, form.dtype) {}
    const View<Rank>& view() const { return view_; }

   private:
    View<Rank> view_;
    std::unique_ptr<char[]> memory_;
};

constexpr int64_t kLongest = 12;

void avg_pool2d(Draw& draw) {
    const Form form(draw);
    AvgPool2dParams params{};
    std::array<int64_t, 2> in, out;
    for (int d = 0; d < 2; ++d) {
        in[d] = draw.between(1, kLongest);
        params.kernel_size[d] = draw.between(1, std::min<int64_t>(in[d], 5));
        params.stride[d] = draw.between(1, 4);
        params.padding[d] = draw.between(0, params.kernel_size[d] / 2);
        out[d] = pooled_size<int64_t>(in[d], params.kernel_size[d], params.stride[d], params.padding[d], /*ceil_mode=*/false);
    }
    params.count_include_pad = draw.flag();
    avg_pool2d_backward(Tensor<4>(form, out).view(), Tensor<4>(form, in).view(), params, 1);
}

template <int Rank, class Backward>
void adaptive_avg_pool(Draw& draw, const Backward& backward) {
    const Form form(draw);
    std::array<int64_t, Rank - 2> in, out;
    for (int64_t& size : in) size = draw.between(1, kLongest);
    for (int64_t& size : out) size = draw.between(1, kLongest);
    backward(Tensor<Rank>(form, out).view(), Tensor<Rank>(form, in).view(), 1);
}

template <class Backward>
void padding(Draw& draw, const Backward& backward) {
    const Form form(draw);
    std::array<int64_t, 2> in, out, before;
    for (int d = 0; d < 2; ++d) {
        in[d] = draw.between(1, kLongest);
        before[d] = draw.between(0, std::min<int64_t>(in[d] - 1, 4));
        out[d] = in[d] + before[d] + draw.between(0, std::min<int64_t>(in[d] - 1, 4));
    }
    backward(Tensor<4>(form, out).view(), Tensor<4>(form, in).view(), before[1], before[0], 1);
}

void max_unpool3d(Draw& draw) {
    const Form form(draw);
    std::array<int64_t, 3> in, out;
    for (int d = 0; d < 3; ++d) {
        in[d] = draw.between(1, kLongest);
        out[d] = draw.between(1, in[d]);
    }
    const Tensor<5> grad_output(form, in), indices(form, out, DType::int64), result(form, out);
    auto* const index = static_cast<int64_t*>(indices.view().data);
    // Some lie outside of their plane.
    for (int64_t i = 0; i < indices.view().bytes() / 8; ++i) index[i] = draw.between(-1, in[0] * in[1] * in[2]);
    max_unpool3d_backward(grad_output.view(), indices.view(), result.view(), 1);
}

}  // namespace

int main(int argc, char** argv) {
    const int count = argc > 1 ? std::atoi(argv[1]) : 100;
    Draw draw;
    for (int i = 0; i < count; ++i) {
        avg_pool2d(draw);
        adaptive_avg_pool<4>(draw, adaptive_avg_pool2d_backward);
        adaptive_avg_pool<5>(draw, adaptive_avg_pool3d_backward);
        padding(draw, reflection_pad2d_backward);
        padding(draw, replication_pad2d_backward);
        max_unpool3d(draw);
    }
    std::puts("ended well");
}
