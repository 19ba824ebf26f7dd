// Boxes {x1, y1, x2, y2}, whose last row and column belong to them, and how they differ from others.
#include <cmath>

#include "engine/aten/by_name/call.h"

using namespace torch_aclnn::host;
using namespace torch_aclnn::host::aten;

namespace {

at::Tensor four_numbers(const Call& call, const char* name) {
    const std::vector<float>& values = call.attribute<std::vector<float>>(name);
    require_count(name, values.size(), 4, 4, 4);
    return at::tensor(values);
}

at::Tensor boxes(const Call& call, size_t i) {
    const at::Tensor given = call.computing(i);
    if (given.dim() != 2 || given.size(1) != 4) refuse("input " + std::to_string(i), "boxes {N, 4}", shape_text(given.sizes()));
    return given;
}

struct Centred {
    at::Tensor centre, size;  // {N, 2}
};

Centred centred(const at::Tensor& boxes) {
    const at::Tensor low = boxes.narrow(1, 0, 2), high = boxes.narrow(1, 2, 2);
    return {(low + high) * 0.5, high - low + 1};
}

}  // namespace

OPERATOR(BoundingBoxEncode) {
    const Centred from = centred(boxes(call, 0)), to = centred(boxes(call, 1));
    const at::Tensor difference = at::cat({(to.centre - from.centre) / from.size, at::log(to.size / from.size)}, 1);
    call.write(0, (difference - four_numbers(call, "means")) / four_numbers(call, "stds"));
}

// Sizes change by no more than the ratio, and boxes end at the image's border if max_shape, its height and width, is given.
OPERATOR(BoundingBoxDecode) {
    const Centred from = centred(boxes(call, 0));
    const at::Tensor difference = boxes(call, 1) * four_numbers(call, "stds") + four_numbers(call, "means");
    const double largest = std::abs(std::log(call.attribute<float>("wh_ratio_clip")));
    const at::Tensor centre = from.centre + from.size * difference.narrow(1, 0, 2);
    const at::Tensor half = from.size * at::exp(at::clamp(difference.narrow(1, 2, 2), -largest, largest)) * 0.5;
    at::Tensor decoded = at::cat({centre - half + 0.5, centre + half - 0.5}, 1);
    const std::vector<int64_t>& shape = call.attribute<std::vector<int64_t>>("max_shape", {});
    if (!shape.empty()) {
        require_count("max_shape", shape.size(), 2, 2, 2);
        const auto height = static_cast<float>(shape[0] - 1), width = static_cast<float>(shape[1] - 1);
        decoded = at::minimum(decoded.clamp_min(0), at::tensor({width, height, width, height}));
    }
    call.write(0, decoded);
}
