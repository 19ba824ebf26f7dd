// GRU. The gates come in torch's order: reset, update, new; hn is what the hidden state gives to the new gate.
#include <ATen/ATen.h>

#include "engine/aten/adapter/adapter.h"
#include "engine/aten/composite/recurrent.h"

ATEN_FAMILY("recurrent")

using namespace torch_aclnn::host::aten;

namespace {

// What the backward needs of all steps.
struct Steps {
    std::vector<at::Tensor> r, z, n, hn, h;
};

// All steps of one direction; h becomes the last state.
Steps run(const at::Tensor& input, const Weights& w, const at::Tensor& active, bool reverse, at::Tensor& h) {
    const int64_t steps = input.size(0);
    const at::Tensor of_input = at::linear(input, w.input, w.input_bias);
    const std::vector<at::Tensor> empty(steps);
    Steps done{empty, empty, empty, empty, empty};
    for_each_step(steps, reverse, [&](int64_t t) {
        const std::vector<at::Tensor> x = of_input[t].chunk(3, 1), s = at::linear(h, w.hidden, w.hidden_bias).chunk(3, 1);
        const at::Tensor r = at::sigmoid(x[0] + s[0]), z = at::sigmoid(x[1] + s[1]), n = at::tanh(x[2] + r * s[2]);
        h = at::where(active[t], n + z * (h - n), h);
        done.r[t] = r, done.z[t] = z, done.n[t] = n, done.hn[t] = s[2], done.h[t] = h;
    });
    return done;
}

}  // namespace

// Without training the lists are null.
ATEN_CHECKED_ENTRY(aclnnGRU, FLOAT | FLOAT16,
                   (require_weights("params", params, hasBiases, numLayers, bidirectional, 3, hx),
                    require_no_dropout(dropout, numLayers, train),
                    require_training_lists(train, numLayers, bidirectional,
                                           {{"rOut", rOut}, {"zOut", zOut}, {"nOut", nOut}, {"hnOut", hnOut}, {"hOut", hOut}})),
                   (In, input), (Tensors, params), (In, hx), (OptIn, batchSizes), (Bool, hasBiases), (Positive, numLayers),
                   (Double, dropout), (Bool, train), (Bool, bidirectional), (Bool, batchFirst), (Out, output), (Out, hy),
                   (OptTensors, rOut), (OptTensors, zOut), (OptTensors, nOut), (OptTensors, hnOut), (OptTensors, hOut)) {
    const RecurrentNetwork network(params, hasBiases, numLayers, bidirectional, batchFirst, batchSizes);
    const at::Tensor sequence = network.sequence(input), active = network.active(sequence.size(0), sequence.size(1));
    const at::Tensor outputs = network.forward(sequence, [&](int64_t index, const at::Tensor& of_layer) {
        at::Tensor h = upcast(hx)[index];
        const Steps all = run(of_layer, network.weights(index), active, network.is_reverse(index), h);
        hy[index].copy_(h);
        if (train) {
            put(*rOut, index, at::stack(all.r));
            put(*zOut, index, at::stack(all.z));
            put(*nOut, index, at::stack(all.n));
            put(*hnOut, index, at::stack(all.hn));
            put(*hOut, index, at::stack(all.h));
        }
        return at::stack(all.h) * active;
    });
    write(output, network.as_given(outputs));
}

ATEN_CHECKED_ENTRY(aclnnGRUBackward, FLOAT | FLOAT16,
                   (require_weights("params", params, hasBiases, numLayers, bidirectional, 3, hx),
                    require_as_many({{"dparams", dparams}}, {"params", params}),
                    require_as_many({{"r", r}, {"z", z}, {"n", n}, {"hn", hn}, {"h", h}},
                                    {"numLayers and bidirectional together", numLayers * (bidirectional ? 2 : 1)})),
                   (In, input), (Tensors, params), (In, hx), (In, dy), (In, dh), (Tensors, r), (Tensors, z), (Tensors, n), (Tensors, hn),
                   (Tensors, h), (OptIn, batchSizes), (Bool, hasBiases), (Positive, numLayers), (Bool, bidirectional), (Bool, batchFirst),
                   (Out, dx), (Out, dhPrev), (Tensors, dparams)) {
    const RecurrentNetwork network(params, hasBiases, numLayers, bidirectional, batchFirst, batchSizes);
    const at::Tensor sequence = network.sequence(input);
    const int64_t steps = sequence.size(0);
    const at::Tensor active = network.active(steps, sequence.size(1));
    std::vector<at::Tensor> outputs;
    for (const at::Tensor& states : h) outputs.push_back(upcast(states) * active);
    const auto run_backward = [&](int64_t index, const at::Tensor& of_layer, const at::Tensor& grad) {
        const Weights w = network.weights(index);
        const bool reverse = network.is_reverse(index);
        const auto saved = [index](at::TensorList list) { return upcast(list.at(index)); };
        const at::Tensor reset = saved(r), update = saved(z), fresh = saved(n), hidden = saved(hn);
        const at::Tensor h_before = states_before(upcast(hx)[index], saved(h), reverse);
        at::Tensor of_h = upcast(dh)[index];
        std::vector<at::Tensor> of_input(steps), of_hidden(steps);
        for_each_step(steps, !reverse, [&](int64_t t) {
            const at::Tensor d = of_h + grad[t];
            const at::Tensor of_z = d * (h_before[t] - fresh[t]) * update[t] * (1 - update[t]);
            const at::Tensor of_n = d * (1 - update[t]) * (1 - fresh[t] * fresh[t]);
            const at::Tensor of_r = of_n * hidden[t] * reset[t] * (1 - reset[t]);
            of_input[t] = at::cat({of_r, of_z, of_n}, 1) * active[t];
            of_hidden[t] = at::cat({of_r, of_z, of_n * reset[t]}, 1) * active[t];
            of_h = at::where(active[t], d * update[t] + at::mm(of_hidden[t], w.hidden), of_h);
        });
        const at::Tensor of_input_gates = at::stack(of_input);
        write_weight_gradients(dparams, index, hasBiases, of_layer, h_before, of_input_gates, at::stack(of_hidden));
        dhPrev[index].copy_(of_h);
        return at::matmul(of_input_gates, w.input);
    };
    write(dx, network.as_given(network.backward(sequence, outputs, network.sequence(dy), run_backward)));
}
