// The steps of an LSTM. The gates come in torch's order: input, forget, candidate (which CANN calls j), output.
#pragma once

#include <ATen/Parallel.h>

#include "engine/aten/recurrent/recurrent.h"
#include "kernels/lstm/lstm.h"

namespace torch_aclnn::host::aten::lstm {

// Values of one step, {batch, units} each, or of all steps, in float32 without gaps.
struct Step {
    at::Tensor i, j, f, o, h, c, tanh_c;
};

inline Step room_for(at::IntArrayRef sizes) {
    const auto room = [&] { return at::empty(sizes, at::kFloat); };
    return {room(), room(), room(), room(), room(), room(), room()};
}

// Computes step `t`; the gates, side by side in the last dimension, are what input and state give to them.
inline void compute(const Step& all, int64_t t, const at::Tensor& gates, const at::Tensor& c_before) {
    const auto place = [&](const at::Tensor& x) { return x.data_ptr<float>() + t * c_before.numel(); };
    kernels::lstm_step({c_before.size(-1), gates.const_data_ptr<float>(), c_before.const_data_ptr<float>(), place(all.i), place(all.j),
                        place(all.f), place(all.o), place(all.c), place(all.tanh_c), place(all.h)},
                       c_before.size(0), at::get_num_threads());
}

// Writes the gradients of the gates of step `t`, and returns that of the state c before it.
inline at::Tensor compute_gradient(const Step& all, int64_t t, const at::Tensor& c_before, const at::Tensor& of_h,
                                   const at::Tensor& of_output, const at::Tensor& of_c, const at::Tensor& of_gates) {
    const at::Tensor of_c_before = at::empty_like(of_c);
    const auto place = [&](const at::Tensor& x) { return x.const_data_ptr<float>() + t * of_c.numel(); };
    kernels::lstm_gradient({of_c.size(-1), place(all.i), place(all.j), place(all.f), place(all.o), place(all.tanh_c), place(c_before),
                            of_h.const_data_ptr<float>(), place(of_output), of_c.const_data_ptr<float>(),
                            of_gates.data_ptr<float>() + 4 * t * of_c.numel(), of_c_before.data_ptr<float>()},
                           of_c.size(0), at::get_num_threads());
    return of_c_before;
}

// Computes all steps of one direction; h and c become the last states.
inline Step run(const at::Tensor& input, const Weights& w, const at::Tensor& active, bool reverse, at::Tensor& h, at::Tensor& c) {
    const at::Tensor gates = dense(at::linear(input, w.input, w.input_bias)), of_state = w.hidden.t();
    if (w.hidden_bias.defined()) gates.add_(w.hidden_bias);
    const bool all_active = active.all().item<bool>();
    const int64_t batch = gates.size(1), units = gates.size(2) / 4;
    const Step all = room_for({gates.size(0), batch, units});
    const std::vector<at::Tensor> of_steps = gates.unbind(), hs = all.h.unbind(), cs = all.c.unbind();
    c = dense(c.expand({batch, units}));
    for_each_step(input.size(0), reverse, [&](int64_t t) {
        of_steps[t].addmm_(h, of_state);
        compute(all, t, of_steps[t], c);
        if (!all_active) {
            hs[t].copy_(at::where(active[t], hs[t], h));
            cs[t].copy_(at::where(active[t], cs[t], c));
        }
        h = hs[t];
        c = cs[t];
    });
    return all;
}

// Returns the gradients of the gates of all steps; of_h and of_c are those of the last states, and become those of the initial ones.
inline at::Tensor run_backward_steps(const Step& saved, const at::Tensor& c_before, const at::Tensor& active, bool reverse,
                                     const at::Tensor& hidden, const at::Tensor& of_output, at::Tensor& of_h, at::Tensor& of_c) {
    const bool all_active = active.all().item<bool>();
    const int64_t steps = saved.i.size(0), batch = saved.i.size(1), units = saved.i.size(2);
    const auto whole = [&](const at::Tensor& x) { return dense(x.expand({steps, batch, units})); };
    const Step all{whole(saved.i), whole(saved.j), whole(saved.f), whole(saved.o), {}, {}, whole(saved.tanh_c)};
    const at::Tensor cs_before = whole(c_before), of_outputs = whole(of_output);
    const at::Tensor of_gates = at::empty({steps, batch, 4 * units}, at::kFloat);
    const std::vector<at::Tensor> of_steps = of_gates.unbind();
    of_h = dense(of_h.expand({batch, units})), of_c = dense(of_c.expand({batch, units}));
    for_each_step(steps, !reverse, [&](int64_t t) {
        const at::Tensor c_of_before = compute_gradient(all, t, cs_before, of_h, of_outputs, of_c, of_gates);
        if (!all_active) of_steps[t].view({batch, 4, units}).mul_(active[t].unsqueeze(1));
        const at::Tensor h_of_before = at::mm(of_steps[t], hidden);
        of_h = all_active ? h_of_before : at::where(active[t], h_of_before, of_h);
        of_c = all_active ? c_of_before : at::where(active[t], c_of_before, of_c);
    });
    return of_gates;
}

}  // namespace torch_aclnn::host::aten::lstm
