// How much boxes overlap, and the gradients of that. The formulas are those of op-plugin's tests, which NPUs pass.
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/autograd.h>

#include <cmath>

#include "engine/aten/by_name/call.h"

using namespace torch_aclnn::host;
using namespace torch_aclnn::host::aten;

namespace {

constexpr double kLeast = 1e-9;

// {x, y, width, height} in rows, of which x and y are the centre or, without `trans`, two corners stand for all.
struct Rectangles {
    at::Tensor left, top, right, bottom;

    Rectangles(const at::Tensor& boxes, bool centred) {
        const at::Tensor half_width = centred ? boxes[2] / 2 : at::Tensor(), half_height = centred ? boxes[3] / 2 : at::Tensor();
        left = centred ? boxes[0] - half_width : boxes[0];
        top = centred ? boxes[1] - half_height : boxes[1];
        right = centred ? boxes[0] + half_width : boxes[2];
        bottom = centred ? boxes[1] + half_height : boxes[3];
    }
    at::Tensor width() const { return right - left; }
    at::Tensor height() const { return bottom - top; }
};

struct Pair {
    Rectangles a, b;

    at::Tensor outer_width() const { return at::maximum(a.right, b.right) - at::minimum(a.left, b.left); }
    at::Tensor outer_height() const { return at::maximum(a.bottom, b.bottom) - at::minimum(a.top, b.top); }
    at::Tensor shared() const {
        const at::Tensor width = at::minimum(a.right, b.right) - at::maximum(a.left, b.left);
        return width.clamp_min(0) * (at::minimum(a.bottom, b.bottom) - at::maximum(a.top, b.top)).clamp_min(0);
    }
    at::Tensor united(double least) const { return a.width() * (a.height() + least) + b.width() * (b.height() + least) - shared() + least; }
    at::Tensor slant() const { return at::atan(b.width() / (b.height() + kLeast)) - at::atan(a.width() / (a.height() + kLeast)); }
};

at::Tensor giou(const Pair& pair) {
    const at::Tensor outer = pair.outer_width() * pair.outer_height(), united = pair.united(0);
    return pair.shared() / united - (outer - united) / outer;
}

at::Tensor diou(const Pair& pair) {
    const Rectangles &a = pair.a, &b = pair.b;
    const at::Tensor apart = ((b.left + b.right - a.left - a.right).square() + (b.top + b.bottom - a.top - a.bottom).square()) / 4;
    return pair.shared() / pair.united(kLeast) - apart / (pair.outer_width().square() + pair.outer_height().square() + kLeast);
}

at::Tensor ciou(const Pair& pair) {
    const at::Tensor v = 4 / (M_PI * M_PI) * pair.slant().square();
    return diou(pair) - v * v / (1 + kLeast - pair.shared() / pair.united(kLeast) + v);
}

Pair pair_of(const Call& call, const at::Tensor& boxes, const at::Tensor& others) {
    call.require_text("mode", "iou");
    for (const at::Tensor* four : {&boxes, &others})
        if (four->dim() != 2 || four->size(0) != 4) refuse("boxes", "boxes {4, N}", shape_text(four->sizes()));
    const bool centred = call.attribute<bool>("trans", false), crossed = call.attribute<bool>("is_cross", true);
    return {Rectangles(boxes.unsqueeze(1), centred), Rectangles(others.unsqueeze(crossed ? 2 : 1), centred)};
}

void overlap(Call& call, at::Tensor (*function)(const Pair&)) {
    call.write(0, function(pair_of(call, call.computing(0), call.computing(1))));
}

void overlap_gradients(Call& call, at::Tensor (*function)(const Pair&)) {
    const c10::impl::ForceDispatchKeyGuard with_autograd(c10::default_included_set, c10::default_excluded_set);
    const at::AutoGradMode enabled(true);
    const at::Tensor boxes = call.computing(1).detach().requires_grad_(), others = call.computing(2).detach().requires_grad_();
    const at::Tensor result = function(pair_of(call, boxes, others));
    const auto gradients = torch::autograd::grad({result}, {boxes, others}, {call.computing(0).reshape(result.sizes())});
    for (size_t i = 0; i < 2; ++i) call.write(i, gradients[i]);
}

}  // namespace

RUN_OPERATOR(GIoU, overlap(call, giou))
RUN_OPERATOR(GIoUGrad, overlap_gradients(call, giou))
RUN_OPERATOR(DIoU, overlap(call, diou))
RUN_OPERATOR(DIoUGrad, overlap_gradients(call, diou))
OPERATOR(CIoU) {
    const Pair pair = pair_of(call, call.computing(0), call.computing(1));
    call.write(0, ciou(pair));
    call.write(1, pair.slant());
}

// Of boxes with the corners {x1, y1, x2, y2} in columns; in mode iof the part of each ground truth that a box covers.
OPERATOR(Iou) {
    const at::Tensor boxes = call.computing(0), truths = call.computing(1);
    const std::string& mode = call.attribute<std::string>("mode", "iou");
    if (mode != "iou" && mode != "iof") refuse("attribute mode", "iou or iof", mode);
    if (boxes.dim() != 2 || boxes.size(1) != 4 || truths.dim() != 2 || truths.size(1) != 4)
        refuse("inputs", "boxes {N, 4}", shape_text(boxes.sizes()));
    const double more = call.attribute<float>("eps", 1);
    const Rectangles a(boxes.t().unsqueeze(1), false), b(truths.t().unsqueeze(2), false);
    const at::Tensor area = (b.width() + more) * (b.height() + more), shared = Pair{a, b}.shared();
    call.write(0, shared / (mode == "iof" ? area : (a.width() + more) * (a.height() + more) + area - shared));
}
