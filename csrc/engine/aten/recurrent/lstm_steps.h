// The steps of an LSTM. The gates come in torch's order: input, forget, candidate (which CANN calls j), output.
#pragma once

#include "engine/aten/recurrent/recurrent.h"

namespace torch_aclnn::host::aten::lstm {

// Values of one step, {batch, units} each, or of all steps.
struct Step {
    at::Tensor i, j, f, o, h, c, tanh_c;
};

// Views of the gates, which lie side by side in the last dimension, and room for the states.
inline Step step_of(const at::Tensor& gates) {
    const std::vector<at::Tensor> gate = gates.chunk(4, -1);
    const auto room = [&] { return at::empty_like(gate[0], at::MemoryFormat::Contiguous); };
    return {gate[0], gate[2], gate[1], gate[3], room(), room(), room()};
}

// Computes one step where its values lie; the gates are what input and state give to them.
inline void compute(Step s, const at::Tensor& gates, const at::Tensor& c_before) {
    gates.narrow(-1, 0, 2 * c_before.size(-1)).sigmoid_();
    s.j.tanh_();
    s.o.sigmoid_();
    at::mul_out(s.c, s.f, c_before);
    s.c.addcmul_(s.i, s.j);
    at::tanh_out(s.tanh_c, s.c);
    at::mul_out(s.h, s.o, s.tanh_c);
}

inline Step step(const at::Tensor& gates, const at::Tensor& c_before) {
    const Step s = step_of(gates);
    compute(s, gates, c_before);
    return s;
}

// What the gradients of a step's states are multiplied by to give those of the gates: d is the one of c, which of_h is a part of.
struct Factors {
    at::Tensor h_in_d, d_in_gates, h_in_o;  // the second for i, f and j side by side

    Factors(const Step& s, const at::Tensor& c_before)
        : h_in_d(at::tanh_backward(s.o, s.tanh_c)),
          d_in_gates(at::stack({at::sigmoid_backward(s.j, s.i), at::sigmoid_backward(c_before, s.f), at::tanh_backward(s.i, s.j)}, -2)),
          h_in_o(at::sigmoid_backward(s.tanh_c, s.o)) {}
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
    const at::Tensor gates = at::linear(input, w.input, w.input_bias), of_state = w.hidden.t();
    if (w.hidden_bias.defined()) gates.add_(w.hidden_bias);
    const bool all_active = active.all().item<bool>();
    const Step all = step_of(gates);
    const std::vector<at::Tensor> of_steps = gates.unbind(), hs = all.h.unbind(), cs = all.c.unbind(), tanh_cs = all.tanh_c.unbind();
    for_each_step(input.size(0), reverse, [&](int64_t t) {
        of_steps[t].addmm_(h, of_state);
        const std::vector<at::Tensor> gate = of_steps[t].chunk(4, 1);
        compute({gate[0], gate[2], gate[1], gate[3], hs[t], cs[t], tanh_cs[t]}, of_steps[t], c);
        if (!all_active) {
            hs[t].copy_(at::where(active[t], hs[t], h));
            cs[t].copy_(at::where(active[t], cs[t], c));
        }
        h = hs[t];
        c = cs[t];
    });
    return all;
}

// The gradients of the gates of all steps; of_h and of_c are those of the last states, and become those of the initial ones.
inline at::Tensor run_backward_steps(const Step& all, const at::Tensor& c_before, const at::Tensor& active, bool reverse,
                                     const at::Tensor& hidden, const at::Tensor& of_output, at::Tensor& of_h, at::Tensor& of_c) {
    const bool all_active = active.all().item<bool>();
    const Factors by(all, c_before);
    const at::Tensor of_gates = at::empty({all.h.size(0), all.h.size(1), 4, all.h.size(2)}, all.h.options());
    std::vector<at::Tensor> of_first = of_gates.narrow(2, 0, 3).unbind(), of_o = of_gates.select(2, 3).unbind();
    const std::vector<at::Tensor> h_in_d = by.h_in_d.unbind(), d_in_gates = by.d_in_gates.unbind(), h_in_o = by.h_in_o.unbind();
    const std::vector<at::Tensor> of_steps = of_gates.flatten(2).unbind(), of_outputs = of_output.unbind(), f = all.f.unbind();
    for_each_step(all.h.size(0), !reverse, [&](int64_t t) {
        const at::Tensor of_both = of_h + of_outputs[t], d = at::addcmul(of_c, of_both, h_in_d[t]);
        at::mul_out(of_first[t], d.unsqueeze(1), d_in_gates[t]);
        at::mul_out(of_o[t], of_both, h_in_o[t]);
        if (!all_active) of_gates[t].mul_(active[t].unsqueeze(1));
        const at::Tensor h_before = at::mm(of_steps[t], hidden), c_of_before = d * f[t];
        of_h = all_active ? h_before : at::where(active[t], h_before, of_h);
        of_c = all_active ? c_of_before : at::where(active[t], c_of_before, of_c);
    });
    return of_gates.flatten(2);
}

}  // namespace torch_aclnn::host::aten::lstm
