// Padding with a number, by the edge and by reflection. Input 1 has two amounts for each dimension, from the first dimension on.
#include "engine/aten/by_name/call.h"

using namespace torch_aclnn::host;
using namespace torch_aclnn::host::aten;

namespace {

// As ATen takes them: from the last dimension on.
std::vector<int64_t> amounts(const Call& call, int64_t rank) {
    if (!call.attribute<bool>("paddings_contiguous", true)) refuse("attribute paddings_contiguous", "true", "false");
    const std::vector<int64_t> given = call.integers(1);
    require_count("input 1", given, 2 * rank);
    std::vector<int64_t> from_last;
    for (int64_t d = rank - 1; d >= 0; d--) from_last.insert(from_last.end(), {given[2 * d], given[2 * d + 1]});
    return from_last;
}

// Those of the last two dimensions, the only ones that may be padded so.
std::vector<int64_t> of_images(const Call& call, const at::Tensor& x) {
    if (x.dim() != 4) refuse("input 0", "4 dimensions", shape_text(x.sizes()));
    const std::vector<int64_t> all = amounts(call, 4);
    if (std::any_of(all.begin() + 4, all.end(), [](int64_t n) { return n != 0; }))
        refuse("input 1", "no padding of the first two dimensions", c10::str(at::IntArrayRef(all)));
    return {all.begin(), all.begin() + 4};
}

[[noreturn]] void refuse_mode(const std::string& expected, const std::string& mode) {
    refuse("attribute mode", expected, mode);
}

}  // namespace

OPERATOR(Pad) {
    const at::Tensor x = call.input(0);
    call.write(0, at::constant_pad_nd(x, amounts(call, x.dim())));
}
OPERATOR(PadV3) {
    const at::Tensor x = call.input(0);
    const std::string& mode = call.attribute<std::string>("mode", "constant");
    if (mode == "constant") return call.write(0, at::constant_pad_nd(x, amounts(call, x.dim()), call.has_input(2) ? call.scalar(2) : 0));
    if (mode == "edge") return call.write(0, at::replication_pad2d(x, of_images(call, x)));
    if (mode == "reflect") return call.write(0, at::reflection_pad2d(x, of_images(call, x)));
    refuse_mode("constant, edge or reflect", mode);
}
OPERATOR(MirrorPad) {
    const at::Tensor x = call.input(0);
    const std::string& mode = call.attribute<std::string>("mode");
    if (mode != "REFLECT") refuse_mode("REFLECT", mode);
    call.write(0, at::reflection_pad2d(x, of_images(call, x)));
}
OPERATOR(PadV3Grad) {
    const at::Tensor grad = call.computing(0);
    const std::vector<int64_t> padding = of_images(call, grad);
    const at::Tensor x = at::zeros(call.output_sizes(0), grad.options());
    const std::string& mode = call.attribute<std::string>("mode");
    if (mode == "edge") return call.write(0, at::replication_pad2d_backward(grad, x, padding));
    if (mode == "reflect") return call.write(0, at::reflection_pad2d_backward(grad, x, padding));
    refuse_mode("edge or reflect", mode);
}
