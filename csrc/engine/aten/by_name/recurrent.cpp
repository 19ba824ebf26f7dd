// One layer and direction of an LSTM or a GRU over all steps; sequences are {steps, batch, features}. Weights come transposed, with the
// gates side by side.
#include "engine/aten/by_name/call.h"
#include "engine/aten/recurrent/gru_steps.h"
#include "engine/aten/recurrent/lstm_steps.h"

namespace {

// The order of the gates in weights and biases: torch's, by one of these names, or with two that follow each other transposed, which is the
// operators' default.
struct GateOrder {
    std::vector<std::string> of_torch;
    std::string by_default;
    int64_t gates, first;

    bool is_default(const Call& call) const {
        const std::string& order = call.attribute<std::string>("gate_order", by_default);
        if (order != by_default && std::find(of_torch.begin(), of_torch.end(), order) == of_torch.end())
            refuse("attribute gate_order", c10::str(by_default, " or ", c10::Join(" or ", of_torch)), order);
        return order == by_default;
    }
    // Converts from the order of the call to torch's, and back.
    at::Tensor converted(const Call& call, const at::Tensor& tensor, int64_t dim) const {
        if (!tensor.defined() || !is_default(call)) return tensor;
        std::vector<at::Tensor> parts = tensor.chunk(gates, dim);
        std::swap(parts.at(first), parts.at(first + 1));
        return at::cat(parts, dim);
    }
    Weights converted(const Call& call, const Weights& w) const {
        return {converted(call, w.input, 0), converted(call, w.hidden, 0), converted(call, w.input_bias, 0),
                converted(call, w.hidden_bias, 0)};
    }
};

// The candidate is j or c.
const GateOrder kLstm{{"ifjo", "ifco"}, "ijfo", 4, 1};
const GateOrder kGru{{"rzh"}, "zrh", 3, 0};

// Refuses variants of the operators that torch_npu does not use.
void require_plain_cell(const Call& call, const GateOrder& order) {
    call.require_text("activation", "tanh");
    if (call.attribute<bool>("use_peephole", false)) refuse("attribute use_peephole", "false", "true");
    if (!call.attribute<bool>("time_major", true)) refuse("attribute time_major", "true", "false");
    if (call.attribute<float>("cell_clip", -1) > 0) refuse("attribute cell_clip", "none", c10::str(call.attribute<float>("cell_clip")));
    if (call.attribute<float>("forget_bias", 0) != 0) refuse("attribute forget_bias", "0", c10::str(call.attribute<float>("forget_bias")));
    if (call.attribute<int64_t>("num_proj", 0) != 0) refuse("attribute num_proj", "0", c10::str(call.attribute<int64_t>("num_proj")));
    (void)order.is_default(call);  // it refuses unknown orders
}

bool is_reverse(const Call& call) {
    const std::string& direction = call.attribute<std::string>("direction", "UNIDIRECTIONAL");
    if (direction != "UNIDIRECTIONAL" && direction != "REDIRECTIONAL")
        refuse("attribute direction", "UNIDIRECTIONAL or REDIRECTIONAL", direction);
    return direction == "REDIRECTIONAL";
}

// Returns the active steps, from a mask. A mask that is a single number means all steps.
at::Tensor active_steps(const Call& call, size_t mask, const at::Tensor& sequence) {
    const std::optional<at::Tensor> given = call.optional(mask);
    if (!given || given->dim() == 0) return at::ones({sequence.size(0), 1, 1}, at::kBool);
    if (given->dim() != 3 || given->size(0) != sequence.size(0) || given->size(1) != sequence.size(1))
        refuse("input " + std::to_string(mask), "a mask of the steps and the batch", shape_text(given->sizes()));
    return *given != 0;
}

// Returns {batch, units}. A layer with a projection has fewer units in h than in its gates, and there is no operator for that.
at::Tensor state(const Call& call, size_t i, int64_t units) {
    const at::Tensor given = call.computing(i);
    if (given.dim() < 2 || given.size(-1) != units)
        refuse("input " + std::to_string(i), c10::str("a state of {batch, ", units, "}, as many units as the gates have"),
               shape_text(given.sizes()));
    return given.reshape({-1, units});
}

at::Tensor sequence_of(const Call& call, size_t i) {
    const at::Tensor given = call.computing(i);
    if (given.dim() != 3) refuse("input " + std::to_string(i), "{steps, batch, features}", shape_text(given.sizes()));
    return given;
}

// One step may come without its dimension.
at::Tensor steps_of(const Call& call, size_t i) {
    const at::Tensor given = call.computing(i);
    return given.dim() == 2 ? given.unsqueeze(0) : sequence_of(call, i);
}

at::Tensor rows(const at::Tensor& sequence) {
    return sequence.reshape({-1, sequence.size(-1)});
}

void write_all(Call& call, at::TensorList results) {
    for (size_t i = 0; i < results.size(); i++) call.write(i, results[i]);
}

void run_lstm(Call& call, const Weights& weights, size_t mask, const at::Tensor& x) {
    require_plain_cell(call, kLstm);
    if (weights.input.size(0) % 4 != 0) refuse("weights", "4 gates side by side", shape_text(weights.input.t().sizes()));
    const at::Tensor active = active_steps(call, mask, x);
    const int64_t units = weights.input.size(0) / 4;
    at::Tensor h = state(call, mask + 1, units), c = state(call, mask + 2, units);
    const lstm::Step all = lstm::run(x, kLstm.converted(call, weights), active, is_reverse(call), h, c);
    write_all(call, {all.h * active, all.h, all.c, all.i, all.j, all.f, all.o, all.tanh_c});
}

// The gradients of the weights of the input and of the state, as they come, of the bias, the sequence and the initial states.
struct LstmGradients {
    at::Tensor input, hidden, bias, x, h, c;
};

// Inputs from 4 on: the initial h and c, h and c of all steps, the gradients of y and of the last h and c, the gates, a mask.
LstmGradients run_lstm_backward(const Call& call, const at::Tensor& x, const at::Tensor& input, const at::Tensor& hidden) {
    require_plain_cell(call, kLstm);
    const bool reverse = is_reverse(call);
    const auto saved = [&](size_t i) { return steps_of(call, i); };
    const lstm::Step all{saved(11), saved(12), saved(13), saved(14), saved(6), saved(7), saved(15)};
    const int64_t units = all.h.size(2);
    const at::Tensor h_before = states_before(state(call, 4, units), all.h, reverse);
    const at::Tensor c_before = states_before(state(call, 5, units), all.c, reverse), active = active_steps(call, 16, x);
    at::Tensor of_h = state(call, 9, units), of_c = state(call, 10, units);
    const at::Tensor of_state = kLstm.converted(call, hidden.t(), 0);
    const at::Tensor of_gates = lstm::run_backward(all, c_before, active, reverse, of_state, saved(8), of_h, of_c);
    const at::Tensor of_steps = kLstm.converted(call, of_gates, 2), gates = rows(of_steps);
    return {at::mm(rows(x).t(), gates), at::mm(rows(h_before).t(), gates), gates.sum(0), at::matmul(of_steps, input.t()), of_h, of_c};
}

}  // namespace

// The weights of the input and of the state are concatenated in dimension 0.
OPERATOR(DynamicRNN) {
    const at::Tensor x = sequence_of(call, 0), w = call.computing(1), b = call.computing(2);
    const int64_t features = x.size(2);
    run_lstm(call, {w.narrow(0, 0, features).t(), w.narrow(0, features, w.size(0) - features).t(), b, {}}, 3, x);
}

OPERATOR(DynamicRNNGrad) {
    const at::Tensor x = sequence_of(call, 0), w = call.computing(1);
    const int64_t features = x.size(2), units = w.size(0) - features;
    const LstmGradients of = run_lstm_backward(call, x, w.narrow(0, 0, features), w.narrow(0, features, units));
    write_all(call, {at::cat({of.input, of.hidden}), of.bias, of.x, of.h, of.c});
}

OPERATOR(DynamicRNNV2) {
    const at::Tensor x = sequence_of(call, 0);
    const Weights weights{call.computing(1).t(), call.computing(2).t(), call.optional_computing(3).value_or(at::Tensor()), {}};
    run_lstm(call, weights, 4, x);
}

OPERATOR(DynamicRNNV2Grad) {
    const LstmGradients of = run_lstm_backward(call, steps_of(call, 0), call.computing(1), call.computing(2));
    write_all(call, {of.input, of.hidden, of.bias, of.x, of.h, of.c});
}

static void require_plain_gru(const Call& call) {
    require_plain_cell(call, kGru);
    if (!call.attribute<bool>("reset_after", true)) refuse("attribute reset_after", "true", "false");
    if (is_reverse(call)) refuse("attribute direction", "UNIDIRECTIONAL", "REDIRECTIONAL");
}

OPERATOR(DynamicGRUV2) {
    require_plain_gru(call);
    const at::Tensor x = sequence_of(call, 0);
    const Weights given{call.computing(1).t(), call.computing(2).t(), call.optional_computing(3).value_or(at::Tensor()),
                        call.optional_computing(4).value_or(at::Tensor())};
    const Weights w = kGru.converted(call, given);
    const at::Tensor active = active_steps(call, 5, x);
    at::Tensor h = state(call, 6, w.input.size(0) / 3);
    const gru::Steps all = gru::run(x, w, active, false, h);
    write_all(call, {all.h * active, all.h, all.z, all.r, all.n, all.hn});
}

OPERATOR(DynamicGRUV2Grad) {
    require_plain_gru(call);
    const at::Tensor x = sequence_of(call, 0), input = call.computing(1), hidden = call.computing(2);
    const auto saved = [&](size_t i) { return sequence_of(call, i); };
    const gru::Steps gates{saved(9), saved(8), saved(10), saved(11), {}};
    const int64_t units = saved(5).size(2);
    const at::Tensor h_before = states_before(state(call, 4, units), saved(5), false);
    at::Tensor of_h = state(call, 7, units);
    const at::Tensor of_state = kGru.converted(call, hidden.t(), 0);
    gru::GateGradients of = gru::run_backward_steps(gates, h_before, active_steps(call, 12, x), false, of_state, saved(6), of_h);
    of = {kGru.converted(call, of.input, 2), kGru.converted(call, of.hidden, 2)};
    write_all(call, {at::mm(rows(x).t(), rows(of.input)), at::mm(rows(h_before).t(), rows(of.hidden)), rows(of.input).sum(0),
                     rows(of.hidden).sum(0), at::matmul(of.input, input.t()), of_h});
}
