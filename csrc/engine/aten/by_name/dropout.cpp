// Dropout's masks, which have a bit for each element (dropout_mask.h), and what they leave of a tensor.
#include "engine/aten/by_name/call.h"
#include "engine/aten/random/dropout_mask.h"

using namespace torch_aclnn::host;
using namespace torch_aclnn::host::aten;

OPERATOR(DropOutDoMask) {
    const at::Tensor x = call.computing(0), mask = call.input(1);
    require_bits("input 1", mask, x.sizes());
    const double kept = call.scalar(2).toDouble();
    const at::Tensor scaled = kept > 0 ? x / kept : at::zeros_like(x);
    call.write(0, scaled * unpacked_dropout_mask(mask, x.sizes()));
}
// A byte for each element.
OPERATOR(DropOutDoMaskV3) {
    const at::Tensor x = call.computing(0), mask = call.input(1);
    if (mask.numel() < x.numel()) refuse("input 1", c10::str("a byte for each element of shape ", x.sizes()), shape_text(mask.sizes()));
    const double kept = call.scalar(2).toDouble();
    const at::Tensor scaled = kept > 0 ? x / kept : at::zeros_like(x);
    call.write(0, scaled * (mask.reshape({-1}).narrow(0, 0, x.numel()).reshape(x.sizes()) != 0));
}

// The probability is that of an element to be kept.
OPERATOR(StatelessDropOutGenMask) {
    const std::vector<int64_t> offset = call.integers(4);
    if (offset.empty()) refuse("input 4", "an offset", "no element");
    require_bits("output 0", at::empty(call.output_sizes(0), at::kByte), call.integers(0));
    const PhiloxStream stream(uint64_t(call.scalar(2).toLong()), uint64_t(offset.back()));
    call.write(0, drawn_dropout_mask(call.output_sizes(0), stream, call.scalar(1).toDouble()));
}
// A mask with a byte for each element instead of a bit. The two seeds make one, as in a stream of Philox.
OPERATOR(DropOutGenMaskV3) {
    const PhiloxStream stream(uint64_t(call.attribute<int64_t>("seed", 0)), uint64_t(call.attribute<int64_t>("seed2", 0)));
    const double kept = call.scalar(1).toDouble();
    call.write(0, drawn<uint8_t>(call.output_sizes(0), [&](int64_t i) { return stream.uniform(i) < kept; }));
}
