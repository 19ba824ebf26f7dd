// Losses, optimisers, the overflow register and dropout.
#include "engine/aten/by_name/call.h"
#include "engine/aten/random/dropout_mask.h"
#include "engine/aten/training/adam.h"
#include "engine/runtime/stream/overflow.h"

// The loss of each row by the logarithms of its classes' probabilities, and its gradient.

static int64_t reduction_of(const Call& call) {
    const std::string& name = call.attribute<std::string>("reduction", "mean");
    if (name == "none") return at::Reduction::None;
    if (name == "mean") return at::Reduction::Mean;
    if (name == "sum") return at::Reduction::Sum;
    refuse("attribute reduction", "none, mean or sum", name);
}

// ATen's kernels know int64 classes only.
static at::Tensor class_of_each_row(const Call& call, size_t input) {
    return call.input(input).to(at::kLong);
}

static int64_t ignored_class(const Call& call) {
    return call.attribute<int64_t>("ignore_index", -100);
}

// The inputs are the logarithms, each row's class and the classes' weights.
OPERATOR(NLLLoss) {
    const auto [loss, total_weight] = at::nll_loss_forward(call.computing(0), class_of_each_row(call, 1), call.optional_computing(2),
                                                           reduction_of(call), ignored_class(call));
    call.write(0, loss);
    call.write(1, total_weight);
}
// The inputs are the logarithms, the loss's gradient, each row's class, the classes' weights and the sum of the rows' weights.
RESULT_OPERATOR(NLLLossGrad, at::nll_loss_backward(call.computing(1), call.computing(0), class_of_each_row(call, 2),
                                                   call.optional_computing(3), reduction_of(call), ignored_class(call), call.computing(4)))

// Adam's steps. The parameter and its moments are inputs and outputs at the same time.

static double number(const Call& call, size_t i) {
    return call.scalar(i).toDouble();
}
static AdamState state(const Call& call) {
    return {call.computing(0), call.computing(1), call.computing(2)};
}
static void write_state(Call& call, const AdamState& state) {
    for (size_t i = 0; i < state.size(); i++) call.write(i, state[i]);
}

OPERATOR(ApplyAdamD) {
    const AdamNumbers n{number(call, 3), number(call, 4), number(call, 5), number(call, 6), number(call, 7), number(call, 8)};
    write_state(call, after_adam(state(call), n, call.computing(9), call.attribute<bool>("use_nesterov", false)));
}
OPERATOR(ApplyAdamW) {
    const AdamNumbers n{number(call, 3), number(call, 4), number(call, 5), number(call, 7), number(call, 8), number(call, 9)};
    const at::Tensor grad = call.attribute<bool>("maximize", false) ? -call.computing(10) : call.computing(10);
    const auto largest = call.attribute<bool>("amsgrad", false) ? std::optional(call.computing(11)) : std::nullopt;
    write_state(call, after_adamw(state(call), n, number(call, 6), grad, largest));
}

// The overflow register, as torch_npu's GradScaler reads and clears it.

// The first of eight numbers is not zero after an overflow.
static at::Tensor overflow_status() {
    at::Tensor status = at::zeros({8});
    if (overflow_register()) status[0].fill_(1);
    return status;
}

RESULT_OPERATOR(NPUAllocFloatStatus, at::zeros({8}))
// The status goes into the input as well: torch_npu returns that.
OPERATOR(NPUGetFloatStatus) {
    call.input(0).copy_(overflow_status());
    call.write(0, overflow_status());
}
OPERATOR(NPUClearFloatStatus) {
    set_overflow_register(false);
    call.write(0, at::zeros({8}));
}
// These are the operators of A2 and later products.
RESULT_OPERATOR(NPUGetFloatStatusV2, overflow_status())
RUN_OPERATOR(NPUClearFloatStatusV2, set_overflow_register(false))

// Dropout's masks, which have a bit for each element (dropout_mask.h), and what they leave of a tensor.

OPERATOR(DropOutDoMask) {
    const at::Tensor x = call.computing(0), mask = call.input(1);
    require_expected("input 1", mask, mask_of(x.sizes()));
    const double kept = call.scalar(2).toDouble();
    const at::Tensor scaled = kept > 0 ? x / kept : at::zeros_like(x);
    call.write(0, scaled * unpacked_dropout_mask(mask, x.sizes()));
}
// The mask has a byte for each element.
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
    require_expected("output 0", at::empty(call.output_sizes(0), at::kByte), mask_of(call.integers(0)));
    const PhiloxStream stream(uint64_t(call.scalar(2).toLong()), uint64_t(offset.back()));
    call.write(0, drawn_dropout_mask(call.output_sizes(0), stream, call.scalar(1).toDouble()));
}
// The mask has a byte for each element instead of a bit. The two seeds make one, as in a stream of Philox.
OPERATOR(DropOutGenMaskV3) {
    const PhiloxStream stream(uint64_t(call.attribute<int64_t>("seed", 0)), uint64_t(call.attribute<int64_t>("seed2", 0)));
    const double kept = call.scalar(1).toDouble();
    call.write(0, drawn<uint8_t>(call.output_sizes(0), [&](int64_t i) { return stream.uniform(i) < kept; }));
}
