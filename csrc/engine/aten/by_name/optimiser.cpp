// Adam's steps. The parameter and its moments are inputs and outputs at the same time.
#include "engine/aten/by_name/call.h"
#include "engine/aten/training/adam.h"

using namespace torch_aclnn::host;
using namespace torch_aclnn::host::aten;

namespace {

double number(const Call& call, size_t i) {
    return call.scalar(i).toDouble();
}
AdamState state(const Call& call) {
    return {call.computing(0), call.computing(1), call.computing(2)};
}
void write_state(Call& call, const AdamState& state) {
    for (size_t i = 0; i < state.size(); i++) call.write(i, state[i]);
}

}  // namespace

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
