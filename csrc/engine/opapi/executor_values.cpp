// What a dry run may know of the values that an executor writes, without computing them.

#include <algorithm>
#include <cmath>
#include <cstring>

#include "engine/opapi/checks.h"
#include "engine/opapi/dtypes.h"
#include "engine/opapi/executor.h"
#include "engine/opapi/facts.h"
#include "engine/opapi/handles.h"

namespace torch_aclnn::host {

static bool is_dense(const aclTensor& tensor) {
    const auto count = checked_element_count(tensor.sizes);
    return count && view_bytes(tensor) == static_cast<size_t>(*count) * bits_of(tensor.dtype) / 8;
}

static bool is_infinite(const aclScalar& scalar) {
    double value = 0;
    float single = 0;
    if (scalar.dtype == ACL_DOUBLE) std::memcpy(&value, scalar.bytes.data(), sizeof(value));
    if (scalar.dtype == ACL_FLOAT) std::memcpy(&single, scalar.bytes.data(), sizeof(single));
    return std::isinf(value) || std::isinf(single);
}

// Tests for NaN and infinity: finite values equal themselves and differ from infinity, so that the result is the same for all.
static Task::Nature of_finite_values(Task::Nature nature, const std::vector<WatchedHandle>& arguments) {
    const aclTensor* first = nullptr;
    for (const WatchedHandle& argument : arguments) {
        const aclTensor* const tensor = argument.tensor();
        if (const aclScalar* const scalar = argument.scalar()) {
            if (!is_infinite(*scalar)) return Task::Nature::other;
            nature = nature == Task::Nature::equality ? Task::Nature::inequality : Task::Nature::equality;
        } else if (tensor == nullptr) {
            return Task::Nature::other;
        } else if (argument.is_written()) {
            if (tensor->dtype != ACL_BOOL || !is_dense(*tensor)) return Task::Nature::other;
        } else if (first != nullptr && (first->first_element() != tensor->first_element() || first->sizes != tensor->sizes ||
                                        first->strides != tensor->strides || first->dtype != tensor->dtype)) {
            return Task::Nature::other;
        } else {
            first = tensor;
        }
    }
    return nature;
}

// Whether what is read stands in the result as it is, one after the other. Larger vectors are parameters, whose values nobody reads.
static bool joins_vectors(const std::vector<WatchedHandle>& arguments) {
    constexpr size_t kJoinedBytes = size_t{1} << 20;
    const aclTensor* first = nullptr;
    for (const WatchedHandle& argument : arguments) {
        const aclTensor* const tensor = argument.tensor();
        if (tensor == nullptr) continue;
        if (first == nullptr) first = tensor;
        if (tensor->sizes.size() != 1 || tensor->dtype != first->dtype || !is_dense(*tensor)) return false;
        if (view_bytes(*tensor) > kJoinedBytes) return false;
    }
    return true;
}

static bool writes_floating(const WatchedHandle& handle) {
    return handle.is_written() && handle.tensor() != nullptr && (FLOATING | DOUBLE | COMPLEX).has(handle.tensor()->dtype);
}
}  // namespace torch_aclnn::host

using namespace torch_aclnn::host;

aclOpExecutor::Nature aclOpExecutor::nature() const {
    Nature nature = facts_of(name()).nature;
    if (nature == Nature::joining && !joins_vectors(watched)) nature = Nature::other;
    const auto all = [this](const auto& test) {
        return std::all_of(watched.begin(), watched.end(), [&](const WatchedHandle& handle) {
            const aclTensor* const tensor = handle.tensor();
            return tensor != nullptr && is_dense(*tensor) && test(*tensor);
        });
    };
    if (nature == Nature::equality || nature == Nature::inequality) return of_finite_values(nature, watched);
    if (nature == Nature::disjunction && !all([](const aclTensor& tensor) { return tensor.dtype == ACL_BOOL; })) return Nature::other;
    const bool makes_zeros = nature == Nature::zeroing || nature == Nature::conjunction;
    if (makes_zeros && !all([](const aclTensor&) { return true; })) return Nature::other;
    return nature == Nature::other && std::any_of(watched.begin(), watched.end(), writes_floating) ? Nature::floating : nature;
}

// A router chooses at most so many experts for a token. A sampler, which chooses among words, chooses more.
std::optional<Choice> aclOpExecutor::choice() const {
    constexpr int64_t kMostChosen = 32;
    if (nature() != Nature::choosing) return std::nullopt;
    const aclTensor *scores = nullptr, *numbers = nullptr;
    for (const WatchedHandle& handle : watched) {
        const std::string_view parameter = handle.name();
        if (parameter == "self" || parameter == "x") scores = handle.tensor();
        if (parameter == "indicesOut" || parameter == "expertIdx") numbers = handle.tensor();
    }
    if (scores == nullptr || numbers == nullptr || scores->sizes.size() != 2 || numbers->sizes.size() != 2) return std::nullopt;
    const auto number_bytes = static_cast<size_t>(bits_of(numbers->dtype) / 8);
    const int64_t rows = scores->sizes[0], columns = scores->sizes[1];
    const bool is_of_rows = numbers->sizes[0] < rows && numbers->sizes[1] == columns;
    const Choice found{numbers->first_element(), number_bytes, rows, numbers->sizes[is_of_rows ? 0 : 1], columns, is_of_rows};
    const bool is_of_columns = numbers->sizes[0] == rows && found.chosen <= std::min(columns, kMostChosen);
    const bool is_index = numbers->dtype == ACL_INT32 || numbers->dtype == ACL_INT64;
    return (is_of_columns || is_of_rows) && is_index && rows > 0 && is_dense(*numbers) ? std::optional(found) : std::nullopt;
}
