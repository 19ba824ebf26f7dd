// Adam's steps. The parameter and its moments are inputs and outputs at the same time.
#include <cmath>

#include "engine/aten/by_name/call.h"

using namespace torch_aclnn::host;
using namespace torch_aclnn::host::aten;

namespace {

double number(const Call& call, size_t i) {
    return call.scalar(i).toDouble();
}

}  // namespace

// With powers of the betas that belong to this step.
OPERATOR(ApplyAdamD) {
    const double lr = number(call, 5), beta1 = number(call, 6), beta2 = number(call, 7), epsilon = number(call, 8);
    const at::Tensor grad = call.computing(9);
    const at::Tensor m = call.computing(1) * beta1 + grad * (1 - beta1);
    const at::Tensor v = call.computing(2) * beta2 + grad * grad * (1 - beta2);
    const double step = lr * std::sqrt(1 - number(call, 4)) / (1 - number(call, 3));
    const at::Tensor towards = call.attribute<bool>("use_nesterov", false) ? m * beta1 + grad * (1 - beta1) : m;
    const at::Tensor var = call.computing(0) - step * towards / (v.sqrt() + epsilon);
    call.write(0, var);
    call.write(1, m);
    call.write(2, v);
}

// With powers of the betas that belong to the step before.
OPERATOR(ApplyAdamW) {
    const double lr = number(call, 5), decay = number(call, 6), beta1 = number(call, 7), beta2 = number(call, 8);
    const at::Tensor grad = call.attribute<bool>("maximize", false) ? -call.computing(10) : call.computing(10);
    const at::Tensor m = call.computing(1) * beta1 + grad * (1 - beta1);
    const at::Tensor v = call.computing(2) * beta2 + grad * grad * (1 - beta2);
    const at::Tensor largest = call.attribute<bool>("amsgrad", false) ? at::maximum(call.computing(11), v) : v;
    const at::Tensor spread = (largest / (1 - number(call, 4) * beta2)).sqrt() + number(call, 9);
    const at::Tensor var = call.computing(0) * (1 - lr * decay) - lr / (1 - number(call, 3) * beta1) * m / spread;
    call.write(0, var);
    call.write(1, m);
    call.write(2, v);
}
