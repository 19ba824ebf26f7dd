// The steps of an LSTM. The gates come in torch's order: input, forget, candidate (which CANN calls j), output.
#pragma once

#include "engine/aten/composite/recurrent.h"

namespace torch_aclnn::host::aten::lstm {

// Values of one step, or of all steps, that the backward needs.
struct Step {
    at::Tensor i, j, f, o, h, c, tanh_c;
};

inline Step step(const at::Tensor& gates, const at::Tensor& c_before) {
    const std::vector<at::Tensor> parts = gates.chunk(4, 1);
    Step s{at::sigmoid(parts[0]), at::tanh(parts[2]), at::sigmoid(parts[1]), at::sigmoid(parts[3]), {}, {}, {}};
    s.c = s.f * c_before + s.i * s.j;
    s.tanh_c = at::tanh(s.c);
    s.h = s.o * s.tanh_c;
    return s;
}

struct StepGradient {
    at::Tensor gates, c_before;
};

inline StepGradient step_backward(const Step& s, const at::Tensor& c_before, const at::Tensor& of_h, const at::Tensor& of_c) {
    const at::Tensor d = of_c + of_h * s.o * (1 - s.tanh_c * s.tanh_c);
    const at::Tensor i = d * s.j * s.i * (1 - s.i), f = d * c_before * s.f * (1 - s.f);
    const at::Tensor j = d * s.i * (1 - s.j * s.j), o = of_h * s.tanh_c * s.o * (1 - s.o);
    return {at::cat({i, f, j, o}, 1), d * s.f};
}

inline Step at_step(const Step& all, int64_t t) {
    return {all.i[t], all.j[t], all.f[t], all.o[t], all.h[t], all.c[t], all.tanh_c[t]};
}

// All steps of one direction; h and c become the last states.
inline Step run(const at::Tensor& input, const Weights& w, const at::Tensor& active, bool reverse, at::Tensor& h, at::Tensor& c) {
    const int64_t steps = input.size(0);
    const at::Tensor of_input = at::linear(input, w.input, w.input_bias);
    std::vector<Step> done(steps);
    for_each_step(steps, reverse, [&](int64_t t) {
        Step s = step(of_input[t] + at::linear(h, w.hidden, w.hidden_bias), c);
        h = s.h = at::where(active[t], s.h, h);
        c = s.c = at::where(active[t], s.c, c);
        done[t] = s;
    });
    const auto stacked = [&](at::Tensor Step::* part) {
        std::vector<at::Tensor> parts;
        for (const Step& s : done) parts.push_back(s.*part);
        return at::stack(parts);
    };
    return {stacked(&Step::i), stacked(&Step::j), stacked(&Step::f),     stacked(&Step::o),
            stacked(&Step::h), stacked(&Step::c), stacked(&Step::tanh_c)};
}

// The gradients of the gates of all steps; of_h and of_c are those of the last states, and become those of the initial ones.
inline at::Tensor run_backward_steps(const Step& all, const at::Tensor& c_before, const at::Tensor& active, bool reverse,
                                     const at::Tensor& hidden, const at::Tensor& of_output, at::Tensor& of_h, at::Tensor& of_c) {
    const int64_t steps = all.h.size(0);
    std::vector<at::Tensor> of_gates(steps);
    for_each_step(steps, !reverse, [&](int64_t t) {
        const StepGradient g = step_backward(at_step(all, t), c_before[t], of_h + of_output[t], of_c);
        of_gates[t] = g.gates * active[t];
        of_h = at::where(active[t], at::mm(of_gates[t], hidden), of_h);
        of_c = at::where(active[t], g.c_before, of_c);
    });
    return at::stack(of_gates);
}

}  // namespace torch_aclnn::host::aten::lstm
