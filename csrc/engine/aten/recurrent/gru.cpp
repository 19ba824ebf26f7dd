// GRU.

#include "engine/aten/recurrent/gru_steps.h"
#include "vocabulary/recurrent/gru_calls.h"

using namespace torch_aclnn::host::aten::gru;

// The lists are null without training.
static void compute(const call::GRU& a) {
    const RecurrentNetwork network(a.params, a.hasBiases, a.numLayers, a.bidirectional, a.batchFirst, a.batchSizes);
    const at::Tensor sequence = network.sequence(a.input), active = network.active(sequence.size(0), sequence.size(1));
    const at::Tensor outputs = network.forward(sequence, [&](int64_t index, const at::Tensor& of_layer) {
        at::Tensor h = upcast(a.hx)[index];
        const Steps all = run(of_layer, network.weights(index), active, network.is_reverse(index), h);
        a.hy[index].copy_(h);
        if (a.train) {
            put(*a.rOut, index, all.r);
            put(*a.zOut, index, all.z);
            put(*a.nOut, index, all.n);
            put(*a.hnOut, index, all.hn);
            put(*a.hOut, index, all.h);
        }
        return all.h * active;
    });
    write(a.output, network.as_given(outputs));
}

static void compute(const call::GRUBackward& a) {
    const RecurrentNetwork network(a.params, a.hasBiases, a.numLayers, a.bidirectional, a.batchFirst, a.batchSizes);
    const at::Tensor sequence = network.sequence(a.input), active = network.active(sequence.size(0), sequence.size(1));
    const auto run_backward = [&](int64_t index, const at::Tensor& of_layer, const at::Tensor& grad) {
        const Weights w = network.weights(index);
        const bool reverse = network.is_reverse(index);
        const auto saved = [index](at::TensorList list) { return upcast(list.at(index)); };
        const Steps gates{saved(a.r), saved(a.z), saved(a.n), saved(a.hn), {}};
        const at::Tensor h_before = states_before(upcast(a.hx)[index], saved(a.h), reverse);
        at::Tensor of_h = upcast(a.dh)[index];
        const GateGradients of = run_backward_steps(gates, h_before, active, reverse, w.hidden, grad, of_h);
        write_weight_gradients(a.dparams, index, a.hasBiases, of_layer, h_before, of.input, of.hidden);
        a.dhPrev[index].copy_(of_h);
        return at::matmul(of.input, w.input);
    };
    write(a.dx, network.as_given(network.backward(sequence, a.h, active, network.sequence(a.dy), run_backward)));
}
