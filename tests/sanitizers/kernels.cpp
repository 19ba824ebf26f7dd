// Calls the kernels of this machine's instruction set on tensors that end where their memory ends, so that valgrind sees what is read or
// written beyond: `kernels COUNT`, so many calls of each operator.
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>

#include "kernels/max_unpool_backward/max_unpool_backward.h"
#include "kernels/separable/operators.h"
#include "kernels/support/pooled_size.h"

using namespace torch_aclnn::kernels;

namespace {

class Draw {
   public:
    int64_t between(int64_t smallest, int64_t largest) { return std::uniform_int_distribution<int64_t>(smallest, largest)(engine_); }
    bool flag() { return between(0, 1) == 1; }

   private:
    std::mt19937_64 engine_{0};
};

// The properties that all tensors of a call share.
struct Form {
    DType dtype;
    bool channels_last;
    int64_t samples, channels;

    explicit Form(Draw& draw) : channels_last(draw.flag()), samples(draw.between(1, 20)), channels(draw.between(1, 9)) {
        constexpr DType kTypes[] = {DType::float16, DType::bfloat16, DType::float32, DType::float64};
        dtype = kTypes[draw.between(0, 3)];
    }
};

using Sizes = std::array<int64_t, 3>;

// Zeros in a block of memory of their own.
class Tensor {
   public:
    Tensor(const Form& form, const Sizes& plane, DType dtype) : view_{nullptr, dtype, {form.samples, form.channels}, {}} {
        for (int d = 2; d < 5; ++d) view_.size[d] = plane[d - 2];
        int64_t step = form.channels_last ? form.channels : 1;
        for (int d = 4; d >= 2; step *= view_.size[d--]) view_.stride[d] = step;
        view_.stride[1] = form.channels_last ? 1 : step;
        view_.stride[0] = form.channels_last ? step : step * form.channels;
        memory_.reset(new char[view_.bytes()]());
        view_.data = memory_.get();
    }
    Tensor(const Form& form, const Sizes& plane) : Tensor(form, plane, form.dtype) {}
    const View<5>& view() const { return view_; }

   private:
    View<5> view_;
    std::unique_ptr<char[]> memory_;
};

// The planes have one to three dimensions.
Sizes draw_sizes(Draw& draw, int64_t smallest, const Sizes& largest) {
    Sizes sizes;
    for (int d = 0; d < 3; ++d) sizes[d] = draw.between(smallest, largest[d]);
    return sizes;
}
Sizes draw_plane(Draw& draw) {
    constexpr int64_t kLongest = 12, kLongestDepth = 5;
    const int64_t dimensions = draw.between(1, 3);
    return draw_sizes(draw, 1, {dimensions == 3 ? kLongestDepth : 1, dimensions >= 2 ? kLongest : 1, kLongest});
}

void avg_pool(Draw& draw) {
    const Form form(draw);
    const Sizes in = draw_plane(draw);
    AvgPoolParams params{};
    Sizes out;
    for (int d = 0; d < 3; ++d) {
        params.kernel_size[d] = draw.between(1, std::min<int64_t>(in[d], 5));
        params.stride[d] = draw.between(1, 4);
        params.padding[d] = draw.between(0, params.kernel_size[d] / 2);
        out[d] = pooled_size<int64_t>(in[d], params.kernel_size[d], params.stride[d], params.padding[d], /*ceil_mode=*/false);
    }
    params.count_include_pad = draw.flag();
    avg_pool_backward(Tensor(form, out).view(), Tensor(form, in).view(), params, 1);
}

void adaptive_avg_pool(Draw& draw) {
    const Form form(draw);
    const Sizes in = draw_plane(draw), out = draw_plane(draw);
    adaptive_avg_pool_backward(Tensor(form, out).view(), Tensor(form, in).view(), 1);
}

void pad(Draw& draw) {
    const Form form(draw);
    const Sizes in = draw_plane(draw);
    Sizes out;
    int64_t before[3];
    for (int d = 0; d < 3; ++d) {
        const int64_t largest = std::min<int64_t>(in[d] - 1, 4);
        before[d] = draw.between(0, largest);
        out[d] = in[d] + before[d] + draw.between(0, largest);
    }
    for (const Padding padding : {Padding::replication, Padding::reflection, Padding::circular})
        pad_backward(padding, Tensor(form, out).view(), Tensor(form, in).view(), before, 1);
}

void max_unpool(Draw& draw) {
    const Form form(draw);
    const Sizes in = draw_plane(draw), out = draw_sizes(draw, 1, in);
    const Tensor grad_output(form, in), indices(form, out, DType::int64), result(form, out);
    auto* const index = static_cast<int64_t*>(indices.view().data);
    // Some lie outside of their plane.
    for (int64_t i = 0; i < indices.view().bytes() / 8; ++i) index[i] = draw.between(-1, in[0] * in[1] * in[2]);
    max_unpool_backward(grad_output.view(), indices.view(), result.view(), 1);
}

}  // namespace

int main(int argc, char** argv) {
    const int count = argc > 1 ? std::atoi(argv[1]) : 100;
    Draw draw;
    for (int i = 0; i < count; ++i) {
        avg_pool(draw);
        adaptive_avg_pool(draw);
        pad(draw);
        max_unpool(draw);
    }
    std::puts("ended well");
}
