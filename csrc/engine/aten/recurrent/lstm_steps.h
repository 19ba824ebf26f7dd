// The steps of an LSTM. The gates come in torch's order: input, forget, candidate (which CANN calls j), output.
#pragma once

#include <ATen/Parallel.h>

#include "engine/aten/recurrent/recurrent.h"
#include "kernels/lstm/lstm.h"

namespace torch_aclnn::host::aten::lstm {

// Products of fewer rows take longer for each.
constexpr int64_t kFewestRows = 8;

// Returns some rows of the batch, which is the last dimension but one; nothing of nothing.
struct Rows {
    int64_t begin, end;

    at::Tensor operator()(const at::Tensor& x) const { return x.defined() ? x.narrow(-2, begin, end - begin) : x; }
    OptTensor operator()(const OptTensor& x) const { return x ? OptTensor((*this)(*x)) : std::nullopt; }
};

// Values of one step, {batch, units} each, or of all steps, in float32; those of a step have no gaps.
struct Step {
    at::Tensor i, j, f, o, h, c, tanh_c;

    Step of_rows(Rows rows) const { return {rows(i), rows(j), rows(f), rows(o), rows(h), rows(c), rows(tanh_c)}; }
};

// Calls `use` with rows of the batch, which a thread takes through all steps. No step waits for other threads then.
void for_each_rows(int64_t batch, const auto& use) {
    at::parallel_for(0, batch, kFewestRows, [&](int64_t begin, int64_t end) { use(Rows{begin, end}); });
}

inline int threads() {
    return at::in_parallel_region() ? 1 : at::get_num_threads();
}

inline Step room_for(at::IntArrayRef sizes) {
    const auto room = [&] { return at::empty(sizes, at::kFloat); };
    return {room(), room(), room(), room(), room(), room(), room()};
}

// Computes step `t`; the gates, side by side in the last dimension, are what input and state give to them.
inline void compute(const Step& all, int64_t t, const at::Tensor& gates, const at::Tensor& c_before) {
    const auto place = [&](const at::Tensor& x) { return x.data_ptr<float>() + t * x.stride(0); };
    kernels::lstm_step({c_before.size(-1), gates.const_data_ptr<float>(), c_before.const_data_ptr<float>(), place(all.i), place(all.j),
                        place(all.f), place(all.o), place(all.c), place(all.tanh_c), place(all.h)},
                       c_before.size(0), threads());
}

// Writes the gradients of the gates of step `t`, and returns that of the state c before it.
inline at::Tensor compute_gradient(const Step& all, int64_t t, const at::Tensor& c_before, const at::Tensor& of_h,
                                   const at::Tensor& of_output, const at::Tensor& of_c, const at::Tensor& of_gates) {
    const at::Tensor of_c_before = at::empty_like(of_c);
    const auto place = [&](const at::Tensor& x) { return x.const_data_ptr<float>() + t * x.stride(0); };
    kernels::lstm_gradient({of_c.size(-1), place(all.i), place(all.j), place(all.f), place(all.o), place(all.tanh_c), place(c_before),
                            of_h.const_data_ptr<float>(), place(of_output), of_c.const_data_ptr<float>(),
                            of_gates.data_ptr<float>() + t * of_gates.stride(0), of_c_before.data_ptr<float>()},
                           of_c.size(0), threads());
    return of_c_before;
}

// Computes all steps, in `all`, from the initial states. The gates have what the input gives to them.
inline void run_steps(const Step& all, const at::Tensor& gates, const at::Tensor& of_state, const OptTensor& active, bool reverse,
                      at::Tensor h, at::Tensor c) {
    const std::vector<at::Tensor> of_steps = gates.unbind(), hs = all.h.unbind(), cs = all.c.unbind();
    for_each_step(gates.size(0), reverse, [&](int64_t t) {
        of_steps[t].addmm_(h, of_state);
        compute(all, t, of_steps[t], c);
        if (active) {
            hs[t].copy_(at::where((*active)[t], hs[t], h));
            cs[t].copy_(at::where((*active)[t], cs[t], c));
        }
        h = hs[t];
        c = cs[t];
    });
}

// Returns the mask of the whole batch; nothing if all steps are active.
inline OptTensor mask_of(const at::Tensor& active, int64_t batch) {
    return active.all().item<bool>() ? std::nullopt : OptTensor(active.expand({-1, batch, -1}));
}

// Computes all steps of one direction; h and c become the last states.
inline Step run(const at::Tensor& input, const Weights& w, const at::Tensor& active, bool reverse, at::Tensor& h, at::Tensor& c) {
    const at::Tensor gates = dense(at::linear(input, w.input, w.input_bias)), of_state = w.hidden.t();
    if (w.hidden_bias.defined()) gates.add_(w.hidden_bias);
    const int64_t steps = gates.size(0), batch = gates.size(1), units = gates.size(2) / 4;
    const Step all = room_for({steps, batch, units});
    h = h.expand({batch, units});
    c = dense(c.expand({batch, units}));
    const OptTensor mask = mask_of(active, batch);
    for_each_rows(batch, [&](Rows rows) { run_steps(all.of_rows(rows), rows(gates), of_state, rows(mask), reverse, rows(h), rows(c)); });
    if (steps > 0) h = all.h[reverse ? 0 : -1], c = all.c[reverse ? 0 : -1];
    return all;
}

// Writes the gradients of the gates of all steps; of_h and of_c are those of the last states, and become those of the initial ones.
inline void run_steps_backward(const Step& saved, const at::Tensor& c_before, const OptTensor& active, bool reverse,
                               const at::Tensor& hidden, const at::Tensor& of_output, const at::Tensor& of_gates, at::Tensor& of_h,
                               at::Tensor& of_c) {
    const std::vector<at::Tensor> of_steps = of_gates.unbind();
    for_each_step(of_gates.size(0), !reverse, [&](int64_t t) {
        const at::Tensor c_of_before = compute_gradient(saved, t, c_before, of_h, of_output, of_c, of_gates);
        if (active) of_steps[t].unflatten(1, at::IntArrayRef{4, -1}).mul_((*active)[t].unsqueeze(1));
        const at::Tensor h_of_before = at::mm(of_steps[t], hidden);
        of_h = active ? at::where((*active)[t], h_of_before, of_h) : h_of_before;
        of_c = active ? at::where((*active)[t], c_of_before, of_c) : c_of_before;
    });
}

// Returns the gradients of the gates of all steps; of_h and of_c are those of the last states, and become those of the initial ones.
inline at::Tensor run_backward(const Step& saved, const at::Tensor& c_before, const at::Tensor& active, bool reverse,
                               const at::Tensor& hidden, const at::Tensor& of_output, at::Tensor& of_h, at::Tensor& of_c) {
    const int64_t steps = saved.i.size(0), batch = saved.i.size(1), units = saved.i.size(2);
    const auto whole = [&](const at::Tensor& x) { return dense(x.expand({steps, batch, units})); };
    const Step all{whole(saved.i), whole(saved.j), whole(saved.f), whole(saved.o), {}, {}, whole(saved.tanh_c)};
    const at::Tensor cs_before = whole(c_before), of_outputs = whole(of_output);
    const at::Tensor of_gates = at::empty({steps, batch, 4 * units}, at::kFloat);
    of_h = of_h.expand({batch, units}).clone(), of_c = of_c.expand({batch, units}).clone();
    const OptTensor mask = mask_of(active, batch);
    for_each_rows(batch, [&](Rows rows) {
        at::Tensor h = rows(of_h), c = rows(of_c);
        run_steps_backward(all.of_rows(rows), rows(cs_before), rows(mask), reverse, hidden, rows(of_outputs), rows(of_gates), h, c);
        rows(of_h).copy_(h);
        rows(of_c).copy_(c);
    });
    return of_gates;
}

}  // namespace torch_aclnn::host::aten::lstm
