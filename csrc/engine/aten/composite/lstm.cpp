// LSTM, and its cell. The gates come in torch's order: input, forget, candidate (which CANN calls j), output.
#include <ATen/ATen.h>

#include "engine/aten/adapter/adapter.h"
#include "engine/aten/composite/recurrent.h"

ATEN_FAMILY("recurrent")

using namespace torch_aclnn::host::aten;

namespace {

// What the backward needs of one step, or of all.
struct Step {
    at::Tensor i, j, f, o, h, c, tanh_c;
};

Step step(const at::Tensor& gates, const at::Tensor& c_before) {
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

StepGradient step_backward(const Step& s, const at::Tensor& c_before, const at::Tensor& of_h, const at::Tensor& of_c) {
    const at::Tensor d = of_c + of_h * s.o * (1 - s.tanh_c * s.tanh_c);
    const at::Tensor i = d * s.j * s.i * (1 - s.i), f = d * c_before * s.f * (1 - s.f);
    const at::Tensor j = d * s.i * (1 - s.j * s.j), o = of_h * s.tanh_c * s.o * (1 - s.o);
    return {at::cat({i, f, j, o}, 1), d * s.f};
}

Step at_step(const Step& all, int64_t t) {
    return {all.i[t], all.j[t], all.f[t], all.o[t], all.h[t], all.c[t], all.tanh_c[t]};
}

// All steps of one direction; h and c become the last states.
Step run(const at::Tensor& input, const Weights& w, const at::Tensor& active, bool reverse, at::Tensor& h, at::Tensor& c) {
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

void put_if_room(at::TensorList places, int64_t index, const at::Tensor& value) {
    if (places.at(index).numel() == value.numel())
        put(places, index, value);
    else
        places.at(index).zero_();
}

at::Tensor initial(at::TensorList hx, size_t which, int64_t index, const at::Tensor& out) {
    return hx.empty() ? at::zeros_like(upcast(out)[index]) : upcast(hx.at(which))[index];
}

at::Tensor or_zeros(const std::optional<at::Tensor>& grad, const at::Tensor& like) {
    return grad ? upcast(*grad) : at::zeros_like(upcast(like));
}

// Without initial states they are zeros.
void require_states(at::TensorList hx) {
    if (hx.size() != 0 && hx.size() != 2) torch_aclnn::host::refuse("hx", "h and c, or nothing", std::to_string(hx.size()) + " tensors");
}

// A gate's four parts for each unit of the cell's state.
void require_gates(const NamedShape& gates, const at::Tensor& cell) {
    const int64_t units = cell.dim() == 2 ? cell.size(1) : 0;
    if (units == 0 || gates.sizes.size() != 2 || gates.sizes[1] != 4 * units)
        torch_aclnn::host::refuse(gates.name, c10::str("4 gates of ", units, " units in dimension 1"), c10::str("shape ", gates.sizes));
}

}  // namespace

// Without training, the lists of gates are null, and those of h and c have room for the last states or, from torch_npu, for one number.
ATEN_CHECKED_ENTRY(aclnnLSTM, FLOAT | FLOAT16,
                   (require_weights("params", params, hasBiases, numLayers, bidirectional, 4, hy),
                    require_no_dropout(dropout, numLayers, train), require_states(hx),
                    require_as_many({{"hOut", hOut}, {"cOut", cOut}},
                                    {"numLayers and bidirectional together", numLayers * (bidirectional ? 2 : 1)}),
                    require_training_lists(train, numLayers, bidirectional,
                                           {{"iOut", iOut}, {"jOut", jOut}, {"fOut", fOut}, {"oOut", oOut}, {"tanhCOut", tanhCOut}})),
                   (In, input), (Tensors, params), (Tensors, hx), (OptIn, batchSizes), (Bool, hasBiases), (Positive, numLayers),
                   (Double, dropout), (Bool, train), (Bool, bidirectional), (Bool, batchFirst), (Out, output), (Out, hy), (Out, cy),
                   (OptTensors, iOut), (OptTensors, jOut), (OptTensors, fOut), (OptTensors, oOut), (Tensors, hOut), (Tensors, cOut),
                   (OptTensors, tanhCOut)) {
    const RecurrentNetwork network(params, hasBiases, numLayers, bidirectional, batchFirst, batchSizes);
    const at::Tensor sequence = network.sequence(input), active = network.active(sequence.size(0), sequence.size(1));
    const at::Tensor outputs = network.forward(sequence, [&](int64_t index, const at::Tensor& of_layer) {
        at::Tensor h = initial(hx, 0, index, hy), c = initial(hx, 1, index, cy);
        const Step all = run(of_layer, network.weights(index), active, network.is_reverse(index), h, c);
        hy[index].copy_(h);
        cy[index].copy_(c);
        if (!train) {
            put_if_room(hOut, index, h);
            put_if_room(cOut, index, c);
        } else {
            put(hOut, index, all.h);
            put(cOut, index, all.c);
            put(*iOut, index, all.i);
            put(*jOut, index, all.j);
            put(*fOut, index, all.f);
            put(*oOut, index, all.o);
            put(*tanhCOut, index, all.tanh_c);
        }
        return all.h * active;
    });
    write(output, network.as_given(outputs));
}

ATEN_CHECKED_ENTRY(aclnnLstmBackward, FLOAT | FLOAT16,
                   (require_weights("params", params, hasBiases, numLayers, bidirectional, 4, dhPrev),
                    require_no_dropout(dropout, numLayers, train), require_states(hx),
                    require_as_many({{"dparams", dparams}}, {"params", params}),
                    require_as_many({{"i", i}, {"j", j}, {"f", f}, {"o", o}, {"h", h}, {"c", c}, {"tanhC", tanhC}},
                                    {"numLayers and bidirectional together", numLayers * (bidirectional ? 2 : 1)})),
                   (In, input), (Tensors, hx), (Tensors, params), (OptIn, dy), (OptIn, dhy), (OptIn, dcy), (Tensors, i), (Tensors, j),
                   (Tensors, f), (Tensors, o), (Tensors, h), (Tensors, c), (Tensors, tanhC), (OptIn, batchSizes), (Bool, hasBiases),
                   (Positive, numLayers), (Double, dropout), (Bool, train), (Bool, bidirectional), (Bool, batchFirst),
                   (OptBools, outputMask), (Out, dx), (Out, dhPrev), (Out, dcPrev), (Tensors, dparams)) {
    const RecurrentNetwork network(params, hasBiases, numLayers, bidirectional, batchFirst, batchSizes);
    const at::Tensor sequence = network.sequence(input);
    const int64_t steps = sequence.size(0), batch = sequence.size(1);
    const at::Tensor active = network.active(steps, batch);
    const at::Tensor of_hy = or_zeros(dhy, dhPrev), of_cy = or_zeros(dcy, dcPrev);
    std::vector<at::Tensor> outputs;
    for (const at::Tensor& states : h) outputs.push_back(upcast(states) * active);
    const int64_t features = dhPrev.size(2) * (bidirectional ? 2 : 1);
    const at::Tensor of_output = dy ? network.sequence(*dy) : at::zeros({steps, batch, features}, sequence.options());
    const auto run_backward = [&](int64_t index, const at::Tensor& of_layer, const at::Tensor& grad) {
        const Weights w = network.weights(index);
        const bool reverse = network.is_reverse(index);
        const auto saved = [index](at::TensorList list) { return upcast(list.at(index)); };
        const Step all{saved(i), saved(j), saved(f), saved(o), saved(h), saved(c), saved(tanhC)};
        const at::Tensor h_before = states_before(initial(hx, 0, index, dhPrev), all.h, reverse);
        const at::Tensor c_before = states_before(initial(hx, 1, index, dcPrev), all.c, reverse);
        at::Tensor of_h = of_hy[index], of_c = of_cy[index];
        std::vector<at::Tensor> of_gates(steps);
        for_each_step(steps, !reverse, [&](int64_t t) {
            const StepGradient g = step_backward(at_step(all, t), c_before[t], of_h + grad[t], of_c);
            of_gates[t] = g.gates * active[t];
            of_h = at::where(active[t], at::mm(of_gates[t], w.hidden), of_h);
            of_c = at::where(active[t], g.c_before, of_c);
        });
        const at::Tensor gates = at::stack(of_gates);
        write_weight_gradients(dparams, index, hasBiases, of_layer, h_before, gates, gates);
        dhPrev[index].copy_(of_h);
        dcPrev[index].copy_(of_c);
        return at::matmul(gates, w.input);
    };
    write(dx, network.as_given(network.backward(sequence, outputs, of_output, run_backward)));
}

// One step, of which the two products are given; storage keeps the gates.
ATEN_CHECKED_ENTRY(aclnnThnnFusedLstmCell, FLOAT | FLOAT16,
                   (require_gates({"inputGates", inputGates}, cx), require_gates({"hiddenGates", hiddenGates}, cx)), (In, inputGates),
                   (In, hiddenGates), (In, cx), (OptIn, inputBias), (OptIn, hiddenBias), (Out, hy), (Out, cy), (Out, storage)) {
    at::Tensor gates = upcast(inputGates) + upcast(hiddenGates);
    if (inputBias) gates = gates + upcast(*inputBias);
    if (hiddenBias) gates = gates + upcast(*hiddenBias);
    const Step s = step(gates, upcast(cx));
    write(hy, s.h);
    write(cy, s.c);
    write(storage, at::cat({s.i, s.f, s.j, s.o}, 1));
}
ATEN_CHECKED_ENTRY(aclnnThnnFusedLstmCellBackward, FLOAT | FLOAT16, require_gates({"storage", storage}, cx), (OptIn, gradHy),
                   (OptIn, gradCy), (In, cx), (In, cy), (In, storage), (Bool, hasBias), (Out, gradGates), (Out, gradCx),
                   (OptOut, gradBias)) {
    const std::vector<at::Tensor> parts = upcast(storage).chunk(4, 1);
    const Step s{parts[0], parts[2], parts[1], parts[3], {}, upcast(cy), at::tanh(upcast(cy))};
    const StepGradient g = step_backward(s, upcast(cx), or_zeros(gradHy, cx), or_zeros(gradCy, cx));
    write(gradGates, g.gates);
    write(gradCx, g.c_before);
    if (hasBias) write(gradBias, g.gates.sum(0));
}
