// LSTM, and its cell.
#include <ATen/ATen.h>

#include "engine/aten/adapter/adapter.h"
#include "engine/aten/composite/lstm_steps.h"

#define ATEN_FAMILY "recurrent"
using namespace torch_aclnn::host::aten;
using namespace torch_aclnn::host::aten::lstm;

namespace {

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
Expected gates_of(const at::Tensor& cell) {
    if (cell.dim() != 2 || cell.size(1) > kUnbounded / 4) torch_aclnn::host::refuse("cx", "2 dimensions", shape_text(cell.sizes()));
    return shape({cell.size(0), 4 * cell.size(1)});
}
Expected biases_of(const at::Tensor& cell) {
    return without_dim(gates_of(cell).sizes, 0);
}

}  // namespace

#define SHAPES RecurrentShapes(input, params, 4, numLayers, bidirectional, batchFirst, batchSizes)

// Without training, the lists of gates are null, and those of h and c have room for the last states or, from torch_npu, for one number.
ATEN_CHECKED_ENTRY(aclnnLSTM, FLOAT | FLOAT16,
                   (require_weights("params", params, hasBiases, numLayers, bidirectional), require_no_dropout(dropout, numLayers, train),
                    require_states(hx),
                    require_as_many({{"hOut", hOut}, {"cOut", cOut}},
                                    {"numLayers and bidirectional together", numLayers * (bidirectional ? 2 : 1)}),
                    require_training_lists(train, numLayers, bidirectional,
                                           {{"iOut", iOut}, {"jOut", jOut}, {"fOut", fOut}, {"oOut", oOut}, {"tanhCOut", tanhCOut}})),
                   (In, input), (Tensors, params, SHAPES.weights(hasBiases)), (Tensors, hx, SHAPES.pair_of_states(hx)), (OptIn, batchSizes),
                   (Bool, hasBiases), (Positive, numLayers), (Double, dropout), (Bool, train), (Bool, bidirectional), (Bool, batchFirst),
                   (Out, output, SHAPES.output()), (Out, hy, SHAPES.states()), (Out, cy, SHAPES.states()),
                   (OptTensorsOut, iOut, SHAPES.saved_if(train, iOut)), (OptTensorsOut, jOut, SHAPES.saved_if(train, jOut)),
                   (OptTensorsOut, fOut, SHAPES.saved_if(train, fOut)), (OptTensorsOut, oOut, SHAPES.saved_if(train, oOut)),
                   (TensorsOut, hOut, SHAPES.saved_if(train, hOut)), (TensorsOut, cOut, SHAPES.saved_if(train, cOut)),
                   (OptTensorsOut, tanhCOut, SHAPES.saved_if(train, tanhCOut))) {
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
                   (require_weights("params", params, hasBiases, numLayers, bidirectional), require_no_dropout(dropout, numLayers, train),
                    require_states(hx)),
                   (In, input), (Tensors, hx, SHAPES.pair_of_states(hx)), (Tensors, params, SHAPES.weights(hasBiases)),
                   (OptIn, dy, SHAPES.output()), (OptIn, dhy, SHAPES.states()), (OptIn, dcy, SHAPES.states()), (Tensors, i, SHAPES.saved()),
                   (Tensors, j, SHAPES.saved()), (Tensors, f, SHAPES.saved()), (Tensors, o, SHAPES.saved()), (Tensors, h, SHAPES.saved()),
                   (Tensors, c, SHAPES.saved()), (Tensors, tanhC, SHAPES.saved()), (OptIn, batchSizes), (Bool, hasBiases),
                   (Positive, numLayers), (Double, dropout), (Bool, train), (Bool, bidirectional), (Bool, batchFirst),
                   (OptBools, outputMask), (Out, dx, like(input)), (Out, dhPrev, SHAPES.states()), (Out, dcPrev, SHAPES.states()),
                   (TensorsOut, dparams, shaped_like(params))) {
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
        const at::Tensor gates = run_backward_steps(all, c_before, active, reverse, w.hidden, grad, of_h, of_c);
        write_weight_gradients(dparams, index, hasBiases, of_layer, h_before, gates, gates);
        dhPrev[index].copy_(of_h);
        dcPrev[index].copy_(of_c);
        return at::matmul(gates, w.input);
    };
    write(dx, network.as_given(network.backward(sequence, outputs, of_output, run_backward)));
}

// One step, of which the two products are given; storage keeps the gates.
ATEN_ENTRY(aclnnThnnFusedLstmCell, FLOAT | FLOAT16, (In, inputGates, gates_of(cx)), (In, hiddenGates, gates_of(cx)), (In, cx),
           (OptIn, inputBias, biases_of(cx)), (OptIn, hiddenBias, biases_of(cx)), (Out, hy, like(cx)), (Out, cy, like(cx)),
           (Out, storage, gates_of(cx))) {
    at::Tensor gates = upcast(inputGates) + upcast(hiddenGates);
    if (inputBias) gates = gates + upcast(*inputBias);
    if (hiddenBias) gates = gates + upcast(*hiddenBias);
    const Step s = step(gates, upcast(cx));
    write(hy, s.h);
    write(cy, s.c);
    write(storage, at::cat({s.i, s.f, s.j, s.o}, 1));
}
ATEN_ENTRY(aclnnThnnFusedLstmCellBackward, FLOAT | FLOAT16, (OptIn, gradHy, shaped_like(cx)), (OptIn, gradCy, shaped_like(cx)), (In, cx),
           (In, cy, shaped_like(cx)), (In, storage, gates_of(cx)), (Bool, hasBias), (Out, gradGates, gates_of(cx)), (Out, gradCx, like(cx)),
           (OptOut, gradBias, if_wanted(hasBias, biases_of(cx)))) {
    const std::vector<at::Tensor> parts = upcast(storage).chunk(4, 1);
    const Step s{parts[0], parts[2], parts[1], parts[3], {}, upcast(cy), at::tanh(upcast(cy))};
    const StepGradient g = step_backward(s, upcast(cx), or_zeros(gradHy, cx), or_zeros(gradCy, cx));
    write(gradGates, g.gates);
    write(gradCx, g.c_before);
    if (hasBias) write(gradBias, g.gates.sum(0));
}

#undef SHAPES
