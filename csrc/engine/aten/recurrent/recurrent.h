// Parts that recurrent layers share: their steps, their weights, and the combination of layers and directions.
//
// Sequences are {steps, batch, features} here. All is computed in float32 for half types.
#pragma once

#include <ATen/ATen.h>

#include <optional>
#include <vector>

#include "engine/aten/adapter/expected.h"
#include "engine/aten/adapter/relations.h"
#include "engine/aten/numerics/results.h"
#include "engine/runtime/error/error.h"

namespace torch_aclnn::host::aten {

struct Weights {
    at::Tensor input, hidden, input_bias, hidden_bias;  // without biases, the last two are undefined
};

class RecurrentNetwork {
   public:
    // `batch_sizes` says how many of the batch, which is sorted by length, each step has; without it all steps have all.
    RecurrentNetwork(at::TensorList params, bool has_biases, int64_t layers, bool bidirectional, bool batch_first,
                     const OptTensor& batch_sizes)
        : params_(params),
          per_direction_(has_biases ? 4 : 2),
          layers_(layers),
          directions_(bidirectional ? 2 : 1),
          batch_first_(batch_first),
          batch_sizes_(batch_sizes && batch_sizes->numel() > 0 ? batch_sizes : std::nullopt) {}

    bool is_reverse(int64_t index) const { return index % directions_ == 1; }

    Weights weights(int64_t index) const {
        const auto at = [&](int64_t i) { return upcast(params_[index * per_direction_ + i]); };
        return per_direction_ == 2 ? Weights{at(0), at(1), {}, {}} : Weights{at(0), at(1), at(2), at(3)};
    }

    // Converts from the caller's layout: batch first, or the steps of a packed sequence below each other.
    at::Tensor sequence(const at::Tensor& given) const {
        if (batch_sizes_) return upcast(given).reshape({batch_sizes_->numel(), -1, given.size(-1)});
        return batch_first_ ? upcast(given).transpose(0, 1) : upcast(given);
    }
    at::Tensor as_given(const at::Tensor& sequence) const { return batch_first_ && !batch_sizes_ ? sequence.transpose(0, 1) : sequence; }

    // Returns which members of the batch each step has, as {steps, batch, 1}.
    at::Tensor active(int64_t steps, int64_t batch) const {
        if (!batch_sizes_) return at::ones({steps, 1, 1}, at::kBool);
        return (at::arange(batch) < batch_sizes_->to(at::kLong).unsqueeze(1)).unsqueeze(2);
    }

    // Runs each layer on the outputs of the one before. `run` gives one direction's outputs.
    template <class Run>
    at::Tensor forward(at::Tensor sequence, Run run) const {
        for (int64_t layer = 0; layer < layers_; layer++) sequence = joined(layer, [&](int64_t index) { return run(index, sequence); });
        return sequence;
    }

    // `states` has those of each direction; `run` gives the gradient of a direction's input.
    template <class Run>
    at::Tensor backward(const at::Tensor& sequence, at::TensorList states, const at::Tensor& active, at::Tensor grad, Run run) const {
        const auto output = [&](int64_t index) { return upcast(states.at(index)) * active; };
        for (int64_t layer = layers_; layer-- > 0;) {
            const at::Tensor input = layer == 0 ? sequence : joined(layer - 1, output);
            const std::vector<at::Tensor> grads = grad.chunk(directions_, 2);
            grad = at::zeros_like(input);
            for (int64_t d = 0; d < directions_; d++) grad += run(layer * directions_ + d, input, grads.at(d));
        }
        return grad;
    }

   private:
    template <class Output>
    at::Tensor joined(int64_t layer, Output output) const {
        std::vector<at::Tensor> directions;
        for (int64_t d = 0; d < directions_; d++) directions.push_back(output(layer * directions_ + d));
        return at::cat(directions, 2);
    }

    at::TensorList params_;
    int64_t per_direction_, layers_, directions_;
    bool batch_first_;
    OptTensor batch_sizes_;
};

inline void require_weights(const char* name, at::TensorList params, bool has_biases, int64_t layers, bool bidirectional) {
    const int64_t of_layer = (has_biases ? 4 : 2) * (bidirectional ? 2 : 1), count = params.size();
    if (count % of_layer != 0 || count / of_layer != layers)
        refuse(name, c10::str(of_layer, " weights and biases in each of ", layers, " layers; projections have no entry point"),
               std::to_string(count));
}

// The shapes of a call's arguments, which follow from its input and its first weight.
class RecurrentShapes {
   public:
    RecurrentShapes(const at::Tensor& input, at::TensorList params, int64_t gates, int64_t layers, bool bidirectional, bool batch_first,
                    const OptTensor& batch_sizes)
        : gates_(gates), directions_(bidirectional ? 2 : 1), count_(layers * directions_), batch_first_(batch_first) {
        const at::Tensor& first = params[0];
        units_ = first.dim() == 2 ? first.size(0) / gates : 0;
        if (units_ == 0 || first.size(0) % gates != 0)
            refuse("params", c10::str(gates, " gates of so many units in dimension 0"), shape_text(first.sizes()));
        is_packed_ = batch_sizes && batch_sizes->numel() > 0;
        if (is_packed_ && batch_sizes->dim() != 1) refuse("batchSizes", "1 dimension", shape_text(batch_sizes->sizes()));
        if (input.dim() != (is_packed_ ? 2 : 3))
            refuse("input", is_packed_ ? "2 dimensions, with batchSizes" : "3 dimensions", shape_text(input.sizes()));
        features_ = input.size(-1);
        steps_ = is_packed_ ? batch_sizes->numel() : input.size(batch_first ? 1 : 0);
        if (steps_ == 0 || (is_packed_ && input.size(0) % steps_ != 0))
            refuse("input", is_packed_ ? c10::str("rows for each of ", steps_, " steps") : "at least one step", shape_text(input.sizes()));
        batch_ = is_packed_ ? input.size(0) / steps_ : input.size(batch_first ? 0 : 1);
    }

    // The outputs of all steps. Those of a packed sequence may lie below each other.
    Either output() const {
        const int64_t features = directions_ * units_;
        const Expected apart = batch_first_ ? shape({batch_, steps_, features}) : shape({steps_, batch_, features});
        return either(apart, is_packed_ ? shape({steps_ * batch_, features}) : apart);
    }
    Expected states() const { return shape({count_, batch_, units_}); }
    std::vector<Expected> pair_of_states(at::TensorList given) const { return std::vector<Expected>(given.empty() ? 0 : 2, states()); }
    // Lists of values that the backward needs have this shape; other lists are not read.
    std::vector<Expected> saved() const { return std::vector<Expected>(count_, shape({steps_, batch_, units_})); }
    std::vector<Expected> saved_if(bool wanted, at::TensorList given) const { return wanted ? saved() : shaped_like(given); }
    std::vector<Expected> saved_if(bool wanted, const std::optional<std::vector<at::Tensor>>& given) const {
        return wanted || !given ? saved() : shaped_like(*given);
    }
    std::vector<Expected> weights(bool has_biases) const {
        std::vector<Expected> expected;
        for (int64_t i = 0; i < count_; i++) {
            expected.push_back(shape({gates_ * units_, i < directions_ ? features_ : directions_ * units_}));
            expected.push_back(shape({gates_ * units_, units_}));
            if (has_biases) expected.insert(expected.end(), 2, shape({gates_ * units_}));
        }
        return expected;
    }

   private:
    int64_t gates_, directions_, count_, units_ = 0, features_ = 0, steps_ = 0, batch_ = 0;
    bool batch_first_, is_packed_ = false;
};

// torch_npu hands the probability on, but the entry points are documented as having no dropout.
inline void require_no_dropout(double probability, int64_t layers, bool train) {
    if (probability != 0 && layers > 1 && train) refuse("dropout", "0", std::to_string(probability));
}

// A list of values that the backward needs, one for each layer and direction. Only calls for training have it.
using TrainingList = std::pair<const char*, const std::optional<std::vector<at::Tensor>>&>;
inline void require_training_lists(bool train, int64_t layers, bool bidirectional, std::initializer_list<TrainingList> lists) {
    if (!train) return;
    for (const auto& [name, places] : lists) {
        require_given(name, places, "a list, as train is set");
        require_as_many({{name, *places}}, {"numLayers and bidirectional together", layers * (bidirectional ? 2 : 1)});
    }
}

// Each layer and direction has its place in a list.
inline void put(at::TensorList places, int64_t index, const at::Tensor& value) {
    at::Tensor place = places.at(index);
    write(place, value);
}

// Returns the states before each step, in the order of the steps: the initial one, then those after the steps before.
inline at::Tensor states_before(const at::Tensor& initial, const at::Tensor& states, bool reverse) {
    const at::Tensor first = initial.unsqueeze(0);
    const int64_t steps = states.size(0);
    return reverse ? at::cat({states.narrow(0, 1, steps - 1), first}) : at::cat({first, states.narrow(0, 0, steps - 1)});
}

// Calls `step` with the number of each step, from the first in the direction's order to its last, or backwards.
template <class Step>
void for_each_step(int64_t steps, bool descending, Step step) {
    for (int64_t k = 0; k < steps; k++) step(descending ? steps - 1 - k : k);
}

// Computes the gradients of one direction's weights from those of the products, and writes them to the places of `params`.
inline void write_weight_gradients(at::TensorList places, int64_t index, bool has_biases, const at::Tensor& input,
                                   const at::Tensor& states_before, const at::Tensor& of_input_gates, const at::Tensor& of_hidden_gates) {
    const auto rows = [](const at::Tensor& sequence) { return sequence.reshape({-1, sequence.size(-1)}); };
    const int64_t first = index * (has_biases ? 4 : 2);
    put(places, first, at::mm(rows(of_input_gates).t(), rows(input)));
    put(places, first + 1, at::mm(rows(of_hidden_gates).t(), rows(states_before)));
    if (!has_biases) return;
    put(places, first + 2, rows(of_input_gates).sum(0));
    put(places, first + 3, rows(of_hidden_gates).sum(0));
}

}  // namespace torch_aclnn::host::aten
