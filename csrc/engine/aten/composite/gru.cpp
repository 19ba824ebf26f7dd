// GRU.
#include <ATen/ATen.h>

#include "engine/aten/adapter/adapter.h"
#include "engine/aten/composite/gru_steps.h"

#define ATEN_FAMILY "recurrent"
using namespace torch_aclnn::host::aten;
using namespace torch_aclnn::host::aten::gru;

#define GRU_SHAPES RecurrentShapes(input, params, 3, numLayers, bidirectional, batchFirst, batchSizes)

// Without training the lists are null.
ATEN_CHECKED_ENTRY(aclnnGRU, FLOAT | FLOAT16,
                   (require_weights("params", params, hasBiases, numLayers, bidirectional), require_no_dropout(dropout, numLayers, train),
                    require_training_lists(train, numLayers, bidirectional,
                                           {{"rOut", rOut}, {"zOut", zOut}, {"nOut", nOut}, {"hnOut", hnOut}, {"hOut", hOut}})),
                   (In, input), (Tensors, params, GRU_SHAPES.weights(hasBiases)), (In, hx, GRU_SHAPES.states()), (OptIn, batchSizes),
                   (Bool, hasBiases), (Positive, numLayers), (Double, dropout), (Bool, train), (Bool, bidirectional), (Bool, batchFirst),
                   (Out, output, GRU_SHAPES.output()), (Out, hy, GRU_SHAPES.states()),
                   (OptTensorsOut, rOut, GRU_SHAPES.saved_if(train, rOut)), (OptTensorsOut, zOut, GRU_SHAPES.saved_if(train, zOut)),
                   (OptTensorsOut, nOut, GRU_SHAPES.saved_if(train, nOut)), (OptTensorsOut, hnOut, GRU_SHAPES.saved_if(train, hnOut)),
                   (OptTensorsOut, hOut, GRU_SHAPES.saved_if(train, hOut))) {
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

ATEN_CHECKED_ENTRY(aclnnGRUBackward, FLOAT | FLOAT16, require_weights("params", params, hasBiases, numLayers, bidirectional), (In, input),
                   (Tensors, params, GRU_SHAPES.weights(hasBiases)), (In, hx, GRU_SHAPES.states()), (In, dy, GRU_SHAPES.output()),
                   (In, dh, GRU_SHAPES.states()), (Tensors, r, GRU_SHAPES.saved()), (Tensors, z, GRU_SHAPES.saved()),
                   (Tensors, n, GRU_SHAPES.saved()), (Tensors, hn, GRU_SHAPES.saved()), (Tensors, h, GRU_SHAPES.saved()),
                   (OptIn, batchSizes), (Bool, hasBiases), (Positive, numLayers), (Bool, bidirectional), (Bool, batchFirst),
                   (Out, dx, like(input)), (Out, dhPrev, GRU_SHAPES.states()), (TensorsOut, dparams, shaped_like(params))) {
    const RecurrentNetwork network(params, hasBiases, numLayers, bidirectional, batchFirst, batchSizes);
    const at::Tensor sequence = network.sequence(input);
    const at::Tensor active = network.active(sequence.size(0), sequence.size(1));
    std::vector<at::Tensor> outputs;
    for (const at::Tensor& states : h) outputs.push_back(upcast(states) * active);
    const auto run_backward = [&](int64_t index, const at::Tensor& of_layer, const at::Tensor& grad) {
        const Weights w = network.weights(index);
        const bool reverse = network.is_reverse(index);
        const auto saved = [index](at::TensorList list) { return upcast(list.at(index)); };
        const Gates gates{saved(r), saved(z), saved(n), saved(hn)};
        const at::Tensor h_before = states_before(upcast(hx)[index], saved(h), reverse);
        at::Tensor of_h = upcast(dh)[index];
        const GateGradients of = run_backward_steps(gates, h_before, active, reverse, w.hidden, grad, of_h);
        write_weight_gradients(dparams, index, hasBiases, of_layer, h_before, of.input, of.hidden);
        dhPrev[index].copy_(of_h);
        return at::matmul(of.input, w.input);
    };
    write(dx, network.as_given(network.backward(sequence, outputs, network.sequence(dy), run_backward)));
}

#undef SHAPES
