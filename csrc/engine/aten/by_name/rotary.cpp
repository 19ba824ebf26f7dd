// Rotary embeddings of positions: each element of the last dimension is turned together with the one half of the dimension further on.
#include "engine/aten/by_name/call.h"

using namespace torch_aclnn::host;
using namespace torch_aclnn::host::aten;

namespace {

// (-x2, x1) of the halves x1 and x2.
at::Tensor turned_by_halves(const at::Tensor& x) {
    if (x.dim() == 0 || x.size(-1) % 2 != 0) refuse("input 0", "an even last dimension", shape_text(x.sizes()));
    const std::vector<at::Tensor> halves = x.chunk(2, -1);
    return at::cat({-halves[1], halves[0]}, -1);
}

}  // namespace

// Inputs: the rotated tensor, cosines, sines.
OPERATOR(RotaryMul) {
    const at::Tensor x = call.computing(0);
    call.write(0, x * call.computing(1) + turned_by_halves(x) * call.computing(2));
}
// Inputs: the rotated tensor, cosines, sines, the result's gradient. The gradients of cosines and sines are optional.
OPERATOR(RotaryMulGrad) {
    const at::Tensor x = call.computing(0), cos = call.computing(1), sin = call.computing(2), grad = call.computing(3);
    call.write(0, grad * cos - turned_by_halves(grad * sin));
    if (!call.attribute<bool>("need_backward", true)) return;
    call.write(1, (grad * x).sum_to_size(cos.sizes()));
    call.write(2, (grad * turned_by_halves(x)).sum_to_size(sin.sizes()));
}
