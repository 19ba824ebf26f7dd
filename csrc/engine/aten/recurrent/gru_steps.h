// The steps of a GRU. The gates come in torch's order: reset, update, new; hn is what the hidden state gives to the new gate.
#pragma once

#include "engine/aten/recurrent/recurrent.h"

namespace torch_aclnn::host::aten::gru {

// Values of all steps, {steps, batch, units} each. The backward takes the states separately.
struct Steps {
    at::Tensor r, z, n, hn, h;
};

// Computes all steps of one direction; h becomes the last state.
inline Steps run(const at::Tensor& input, const Weights& w, const at::Tensor& active, bool reverse, at::Tensor& h) {
    const int64_t steps = input.size(0);
    const at::Tensor of_input = at::linear(input, w.input, w.input_bias);
    std::vector<at::Tensor> rs(steps), zs(steps), ns(steps), hns(steps), hs(steps);
    for_each_step(steps, reverse, [&](int64_t t) {
        const std::vector<at::Tensor> x = of_input[t].chunk(3, 1), s = at::linear(h, w.hidden, w.hidden_bias).chunk(3, 1);
        const at::Tensor r = at::sigmoid(x[0] + s[0]), z = at::sigmoid(x[1] + s[1]), n = at::tanh(x[2] + r * s[2]);
        h = at::where(active[t], n + z * (h - n), h);
        rs[t] = r, zs[t] = z, ns[t] = n, hns[t] = s[2], hs[t] = h;
    });
    return {at::stack(rs), at::stack(zs), at::stack(ns), at::stack(hns), at::stack(hs)};
}

// The gradients of what the input and the state before give to the gates.
struct GateGradients {
    at::Tensor input, hidden;
};

// of_h is the gradient of the last state, and becomes that of the initial one.
inline GateGradients run_backward_steps(const Steps& gates, const at::Tensor& h_before, const at::Tensor& active, bool reverse,
                                        const at::Tensor& hidden, const at::Tensor& of_output, at::Tensor& of_h) {
    const int64_t steps = h_before.size(0);
    std::vector<at::Tensor> of_input(steps), of_hidden(steps);
    for_each_step(steps, !reverse, [&](int64_t t) {
        const at::Tensor r = gates.r[t], z = gates.z[t], n = gates.n[t];
        const at::Tensor d = of_h + of_output[t];
        const at::Tensor of_z = d * (h_before[t] - n) * z * (1 - z);
        const at::Tensor of_n = d * (1 - z) * (1 - n * n);
        const at::Tensor of_r = of_n * gates.hn[t] * r * (1 - r);
        of_input[t] = at::cat({of_r, of_z, of_n}, 1) * active[t];
        of_hidden[t] = at::cat({of_r, of_z, of_n * r}, 1) * active[t];
        of_h = at::where(active[t], d * z + at::mm(of_hidden[t], hidden), of_h);
    });
    return {at::stack(of_input), at::stack(of_hidden)};
}

}  // namespace torch_aclnn::host::aten::gru
