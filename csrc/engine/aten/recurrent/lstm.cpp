// LSTM, and its cell.

#include "engine/aten/recurrent/lstm_steps.h"
#include "vocabulary/recurrent/lstm_calls.h"

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

at::Tensor or_zeros(const OptTensor& grad, const at::Tensor& like) {
    return grad ? upcast(*grad) : at::zeros_like(upcast(like));
}

// The four gates of each unit of the cell's state are side by side.
Expected gates_of(const at::Tensor& cell) {
    if (cell.dim() != 2 || cell.size(1) > kUnbounded / 4) refuse("cx", "2 dimensions", shape_text(cell.sizes()));
    return shape({cell.size(0), 4 * cell.size(1)});
}
Expected biases_of(const at::Tensor& cell) {
    return without_dim(gates_of(cell).sizes, 0);
}

}  // namespace

static void check(const call::LSTM& a) {
    require_weights("params", a.params, a.hasBiases, a.numLayers, a.bidirectional);
    require_no_dropout(a.dropout, a.numLayers, a.train);
    require_count("hx", a.hx.size(), 2, 0, 0);
    require_as_many({{"hOut", a.hOut}, {"cOut", a.cOut}},
                    {"numLayers and bidirectional together", a.numLayers * (a.bidirectional ? 2 : 1)});
    require_training_lists(a.train, a.numLayers, a.bidirectional,
                           {{"iOut", a.iOut}, {"jOut", a.jOut}, {"fOut", a.fOut}, {"oOut", a.oOut}, {"tanhCOut", a.tanhCOut}});
}
// Without training, the lists of gates are null, and those of h and c have room for the last states or, from torch_npu, for one number.
static void compute(const call::LSTM& a) {
    const RecurrentNetwork network(a.params, a.hasBiases, a.numLayers, a.bidirectional, a.batchFirst, a.batchSizes);
    const at::Tensor sequence = network.sequence(a.input), active = network.active(sequence.size(0), sequence.size(1));
    const at::Tensor outputs = network.forward(sequence, [&](int64_t index, const at::Tensor& of_layer) {
        at::Tensor h = initial(a.hx, 0, index, a.hy), c = initial(a.hx, 1, index, a.cy);
        const Step all = run(of_layer, network.weights(index), active, network.is_reverse(index), h, c);
        a.hy[index].copy_(h);
        a.cy[index].copy_(c);
        if (!a.train) {
            put_if_room(a.hOut, index, h);
            put_if_room(a.cOut, index, c);
        } else {
            put(a.hOut, index, all.h);
            put(a.cOut, index, all.c);
            put(*a.iOut, index, all.i);
            put(*a.jOut, index, all.j);
            put(*a.fOut, index, all.f);
            put(*a.oOut, index, all.o);
            put(*a.tanhCOut, index, all.tanh_c);
        }
        return all.h * active;
    });
    write(a.output, network.as_given(outputs));
}

static void compute(const call::LstmBackward& a) {
    const RecurrentNetwork network(a.params, a.hasBiases, a.numLayers, a.bidirectional, a.batchFirst, a.batchSizes);
    const at::Tensor sequence = network.sequence(a.input);
    const int64_t steps = sequence.size(0), batch = sequence.size(1);
    const at::Tensor active = network.active(steps, batch);
    const at::Tensor of_hy = or_zeros(a.dhy, a.dhPrev), of_cy = or_zeros(a.dcy, a.dcPrev);
    const int64_t features = a.dhPrev.size(2) * (a.bidirectional ? 2 : 1);
    const at::Tensor of_output = a.dy ? network.sequence(*a.dy) : at::zeros({steps, batch, features}, sequence.options());
    const auto run_backward = [&](int64_t index, const at::Tensor& of_layer, const at::Tensor& grad) {
        const Weights w = network.weights(index);
        const bool reverse = network.is_reverse(index);
        const auto saved = [index](at::TensorList list) { return upcast(list.at(index)); };
        const Step all{saved(a.i), saved(a.j), saved(a.f), saved(a.o), saved(a.h), saved(a.c), saved(a.tanhC)};
        const at::Tensor h_before = states_before(initial(a.hx, 0, index, a.dhPrev), all.h, reverse);
        const at::Tensor c_before = states_before(initial(a.hx, 1, index, a.dcPrev), all.c, reverse);
        at::Tensor of_h = of_hy[index], of_c = of_cy[index];
        const at::Tensor gates = lstm::run_backward(all, c_before, active, reverse, w.hidden, grad, of_h, of_c);
        write_weight_gradients(a.dparams, index, a.hasBiases, of_layer, h_before, gates, gates);
        a.dhPrev[index].copy_(of_h);
        a.dcPrev[index].copy_(of_c);
        return at::matmul(gates, w.input);
    };
    write(a.dx, network.as_given(network.backward(sequence, a.h, active, of_output, run_backward)));
}

// Computes one step, of which the two products are given; storage keeps the gates.
static void compute(const call::ThnnFusedLstmCell& a) {
    at::Tensor gates = upcast(a.inputGates) + upcast(a.hiddenGates);
    if (a.inputBias) gates = gates + upcast(*a.inputBias);
    if (a.hiddenBias) gates = gates + upcast(*a.hiddenBias);
    const at::Tensor c_before = dense(a.cx);
    const Step s = room_for(c_before.sizes());
    compute(s, 0, dense(gates), c_before);
    write(a.hy, s.h);
    write(a.cy, s.c);
    write(a.storage, at::cat({s.i, s.f, s.j, s.o}, 1));
}
static void compute(const call::ThnnFusedLstmCellBackward& a) {
    const std::vector<at::Tensor> parts = upcast(a.storage).chunk(4, 1);
    const Step s{dense(parts[0]), dense(parts[2]), dense(parts[1]), dense(parts[3]), {}, {}, dense(at::tanh(upcast(a.cy)))};
    const at::Tensor of_gates = at::empty(a.storage.sizes(), at::kFloat), no_output = at::zeros(a.cx.sizes(), at::kFloat);
    const at::Tensor of_h = dense(or_zeros(a.gradHy, a.cx)), of_c = dense(or_zeros(a.gradCy, a.cx));
    write(a.gradCx, compute_gradient(s, 0, dense(a.cx), of_h, no_output, of_c, of_gates));
    write(a.gradGates, of_gates);
    if (a.hasBias) write(a.gradBias, of_gates.sum(0));
}
