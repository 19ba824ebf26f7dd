// How much boxes overlap.
#pragma once

#include <ATen/ATen.h>

#include "engine/aten/numerics/results.h"

namespace torch_aclnn::host::aten {

// Corners of boxes, one tensor for each.
struct Boxes {
    at::Tensor x0, y0, x1, y1;

    at::Tensor width() const { return x1 - x0; }
    at::Tensor height() const { return y1 - y0; }
    // Returns the boxes with another dimension, so that each broadcasts against each of other boxes.
    Boxes along(int64_t dim) const { return {x0.unsqueeze(dim), y0.unsqueeze(dim), x1.unsqueeze(dim), y1.unsqueeze(dim)}; }
};
inline Boxes corners(const at::Tensor& boxes, int64_t dim, bool centred) {
    const at::Tensor all = to_double(boxes).movedim(dim, 0);
    if (!centred) return {all[0], all[1], all[2], all[3]};
    const at::Tensor half_width = all[2] / 2, half_height = all[3] / 2;
    return {all[0] - half_width, all[1] - half_height, all[0] + half_width, all[1] + half_height};
}
inline at::Tensor common_area(const Boxes& a, const Boxes& b) {
    const at::Tensor width = at::minimum(a.x1, b.x1) - at::maximum(a.x0, b.x0), height = at::minimum(a.y1, b.y1) - at::maximum(a.y0, b.y0);
    return width.clamp_min(0) * height.clamp_min(0);
}

// The overlaps of detection's losses, by the area of both, or of the second with `iof`.
struct Overlap {
    Boxes first, second;
    bool iof = false;
    static constexpr double kEpsilon = 1e-9;

    at::Tensor wide() const { return at::maximum(first.x1, second.x1) - at::minimum(first.x0, second.x0); }
    at::Tensor high() const { return at::maximum(first.y1, second.y1) - at::minimum(first.y0, second.y0); }
    at::Tensor whole() const {
        const at::Tensor second_area = second.width() * (second.height() + kEpsilon);
        return iof ? second_area : first.width() * (first.height() + kEpsilon) + second_area - common_area(first, second);
    }
    at::Tensor share() const { return common_area(first, second) / (whole() + kEpsilon); }
    at::Tensor angle() const {
        return at::atan(second.width() / (second.height() + kEpsilon)) - at::atan(first.width() / (first.height() + kEpsilon));
    }
    // GIoU subtracts the part of the box around both that neither covers; DIoU subtracts a part for the distance of the centres; CIoU
    // subtracts one more for the shapes.
    at::Tensor general() const {
        const at::Tensor outer = wide() * high();
        return share() - (outer - whole()) / outer;
    }
    at::Tensor distant() const {
        const at::Tensor across = second.x0 + second.x1 - first.x0 - first.x1, down = second.y0 + second.y1 - first.y0 - first.y1;
        return share() - (across.square() + down.square()) / 4 / (wide().square() + high().square() + kEpsilon);
    }
    at::Tensor complete() const {
        const at::Tensor shapes = angle().square() * (4 / (M_PI * M_PI));
        const at::Tensor weight = shapes / (1 + kEpsilon - share() + shapes);
        return distant() - shapes * weight.detach();  // the gradient treats this as a constant
    }
};

}  // namespace torch_aclnn::host::aten
