// The overlaps of boxes, and their gradients. The formulas are those of op-plugin's tests, which NPUs pass.
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/autograd.h>

#include "engine/aten/by_name/call.h"
#include "engine/aten/vision/boxes.h"

// Boxes are {4, N}: the corners of each or, with `trans`, its centre and size.
static Overlap overlap_of(const Call& call, const at::Tensor& boxes, const at::Tensor& others) {
    for (const at::Tensor* four : {&boxes, &others})
        if (four->dim() != 2 || four->size(0) != 4) refuse("boxes", "boxes {4, N}", shape_text(four->sizes()));
    const std::string& mode = call.attribute<std::string>("mode", "iou");
    if (mode != "iou" && mode != "iof") refuse("attribute mode", "iou or iof", mode);
    const bool centred = call.attribute<bool>("trans", false), crossed = call.attribute<bool>("is_cross", true);
    return {corners(boxes, 0, centred).along(0), corners(others, 0, centred).along(crossed ? 1 : 0), mode == "iof"};
}

static void write_gradients(Call& call, at::Tensor (Overlap::*result_of)() const) {
    const c10::impl::ForceDispatchKeyGuard with_autograd(c10::default_included_set, c10::default_excluded_set);
    const at::AutoGradMode enabled(true);
    const at::Tensor boxes = call.computing(1).detach().requires_grad_(), others = call.computing(2).detach().requires_grad_();
    const at::Tensor result = (overlap_of(call, boxes, others).*result_of)();
    const at::Tensor given = call.computing(0).to(result.scalar_type()).reshape(result.sizes());
    const auto gradients = torch::autograd::grad({result}, {boxes, others}, {given});
    for (size_t i = 0; i < 2; ++i) call.write(i, gradients[i]);
}

RESULT_OPERATOR(GIoU, overlap_of(call, call.computing(0), call.computing(1)).general())
RUN_OPERATOR(GIoUGrad, write_gradients(call, &Overlap::general))
RESULT_OPERATOR(DIoU, overlap_of(call, call.computing(0), call.computing(1)).distant())
RUN_OPERATOR(DIoUGrad, write_gradients(call, &Overlap::distant))
OPERATOR(CIoU) {
    const Overlap overlap = overlap_of(call, call.computing(0), call.computing(1));
    call.write(0, overlap.complete());
    call.write(1, overlap.angle());
}
RUN_OPERATOR(CIoUGrad, write_gradients(call, &Overlap::complete))

// Boxes are rows of corners. The constant is added to the sides of each box, but not to those of the intersection.
OPERATOR(Iou) {
    const at::Tensor boxes = call.computing(0), truths = call.computing(1);
    for (const at::Tensor* four : {&boxes, &truths})
        if (four->dim() != 2 || four->size(1) != 4) refuse("boxes", "boxes {N, 4}", shape_text(four->sizes()));
    const std::string& mode = call.attribute<std::string>("mode", "iou");
    if (mode != "iou" && mode != "iof") refuse("attribute mode", "iou or iof", mode);
    const double more = call.attribute<float>("eps", 1);
    const Boxes first = corners(boxes, 1, false).along(0), second = corners(truths, 1, false).along(1);
    const at::Tensor common = common_area(first, second), of_second = (second.width() + more) * (second.height() + more);
    call.write(0, common / (mode == "iof" ? of_second : (first.width() + more) * (first.height() + more) + of_second - common));
}
