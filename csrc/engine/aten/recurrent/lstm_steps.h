// The steps of an LSTM. The gates come in torch's order: input, forget, candidate (which CANN calls j), output.
#pragma once

#include "engine/aten/recurrent/recurrent.h"

namespace torch_aclnn::host::aten::lstm {

// Values of one step, {batch, units} each, or of all steps.
struct Step {
    at::Tensor i, j, f, o, h, c, tanh_c;
};

// From torch's order of the gates, side by side in one dimension, to one block each, {4, ...}: those of the sigmoid, i, f and o, then j.
inline at::Tensor as_blocks(const at::Tensor& gates, int64_t dim) {
    const std::vector<at::Tensor> parts = gates.chunk(4, dim);
    return at::stack({parts.at(0), parts.at(1), parts.at(3), parts.at(2)});
}

// Views of the gates {..., 4, batch, units}, and room for the states.
inline Step step_of(const at::Tensor& gates) {
    const auto gate = [&](int64_t place) { return gates.select(-3, place); };
    const auto room = [&] { return at::empty_like(gate(0), at::MemoryFormat::Contiguous); };
    return {gate(0), gate(3), gate(1), gate(2), room(), room(), room()};
}
inline Step at_step(const Step& all, int64_t t) {
    return {all.i[t], all.j[t], all.f[t], all.o[t], all.h[t], all.c[t], all.tanh_c[t]};
}

// Computes one step where its values lie; the gates are what input and state give to them.
inline void compute(Step s, const at::Tensor& gates, const at::Tensor& c_before) {
    gates.narrow(0, 0, 3).sigmoid_();
    s.j.tanh_();
    at::mul_out(s.c, s.f, c_before);
    s.c.addcmul_(s.i, s.j);
    at::tanh_out(s.tanh_c, s.c);
    at::mul_out(s.h, s.o, s.tanh_c);
}

inline Step step(const at::Tensor& gates, const at::Tensor& c_before) {
    const at::Tensor blocks = as_blocks(gates, 1);
    const Step s = step_of(blocks);
    compute(s, blocks, c_before);
    return s;
}

// What the gradients of a step's states are multiplied by to give those of the gates: d is the one of c, which of_h is a part of.
struct Factors {
    at::Tensor h_in_d, d_in_gates, h_in_o;  // the second for i, f and j side by side

    Factors(const Step& s, const at::Tensor& c_before)
        : h_in_d(s.o * (1 - s.tanh_c * s.tanh_c)),
          d_in_gates(at::stack({s.j * s.i * (1 - s.i), c_before * s.f * (1 - s.f), s.i * (1 - s.j * s.j)}, -2)),
          h_in_o(s.tanh_c * s.o * (1 - s.o)) {}
};

struct StepGradient {
    at::Tensor gates, c_before;
};

inline StepGradient step_backward(const Step& s, const at::Tensor& c_before, const at::Tensor& of_h, const at::Tensor& of_c) {
    const Factors by(s, c_before);
    const at::Tensor d = at::addcmul(of_c, of_h, by.h_in_d);
    return {at::cat({(d.unsqueeze(1) * by.d_in_gates).flatten(1), of_h * by.h_in_o}, 1), d * s.f};
}

// All steps of one direction; h and c become the last states.
inline Step run(const at::Tensor& input, const Weights& w, const at::Tensor& active, bool reverse, at::Tensor& h, at::Tensor& c) {
    at::Tensor of_input = at::linear(input, w.input, w.input_bias);
    if (w.hidden_bias.defined()) of_input += w.hidden_bias;
    const at::Tensor gates = as_blocks(of_input, -1).transpose(0, 1).contiguous();  // {steps, 4, batch, units}
    const at::Tensor of_state = as_blocks(w.hidden, 0).transpose(1, 2).contiguous();
    const bool all_active = active.all().item<bool>();
    const Step all = step_of(gates);
    for_each_step(input.size(0), reverse, [&](int64_t t) {
        at::Tensor of_step = gates[t];
        of_step.baddbmm_(h.expand({4, -1, -1}), of_state);
        const Step s = at_step(all, t);
        compute(s, of_step, c);
        if (!all_active) {
            s.h.copy_(at::where(active[t], s.h, h));
            s.c.copy_(at::where(active[t], s.c, c));
        }
        h = s.h;
        c = s.c;
    });
    return all;
}

// The gradients of the gates of all steps; of_h and of_c are those of the last states, and become those of the initial ones.
inline at::Tensor run_backward_steps(const Step& all, const at::Tensor& c_before, const at::Tensor& active, bool reverse,
                                     const at::Tensor& hidden, const at::Tensor& of_output, at::Tensor& of_h, at::Tensor& of_c) {
    const bool all_active = active.all().item<bool>();
    const Factors by(all, c_before);
    at::DimVector sizes(all.h.sizes());
    sizes.insert(sizes.end() - 1, 4);
    const at::Tensor of_gates = at::empty(sizes, all.h.options());  // {steps, batch, 4, units}
    for_each_step(sizes[0], !reverse, [&](int64_t t) {
        const at::Tensor of_both = of_h + of_output[t], d = at::addcmul(of_c, of_both, by.h_in_d[t]);
        at::Tensor of_step = of_gates[t], of_first = of_step.narrow(1, 0, 3), of_o = of_step.select(1, 3);
        at::mul_out(of_first, d.unsqueeze(1), by.d_in_gates[t]);
        at::mul_out(of_o, of_both, by.h_in_o[t]);
        if (!all_active) of_step.mul_(active[t].unsqueeze(1));
        const at::Tensor h_before = at::mm(of_step.flatten(1), hidden), c_of_before = d * all.f[t];
        of_h = all_active ? h_before : at::where(active[t], h_before, of_h);
        of_c = all_active ? c_of_before : at::where(active[t], c_of_before, of_c);
    });
    return of_gates.flatten(2);
}

}  // namespace torch_aclnn::host::aten::lstm
