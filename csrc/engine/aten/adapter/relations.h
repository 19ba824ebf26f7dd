// Relations between arguments, for what records require. They look at shapes and lengths only, so that they are cheap, and
// refuse with 161002.
#pragma once

#include <ATen/core/Tensor.h>

#include <initializer_list>
#include <utility>

#include "engine/opapi/handles.h"
#include "engine/runtime/error/error.h"

namespace torch_aclnn::host::aten {

// The bodies are in no namespace of the engine.
using host::refuse;
using host::refuse_null;
using host::to_string;

using OptTensor = std::optional<at::Tensor>;
using OptNumbers = std::optional<std::vector<int64_t>>;

// A tensor under its documented name.
struct NamedShape {
    NamedShape(const char* name, const at::Tensor& tensor) : name(name), sizes(tensor.sizes()) {}

    const char* name;
    at::IntArrayRef sizes;
};

// A tensor without dimensions counts as a row of one element.
inline int64_t size_of(const at::Tensor& tensor, int64_t dim) {
    return tensor.dim() == 0 ? 1 : tensor.size(dim);
}

// A dimension that may count from the end.
constexpr int64_t from_front(int64_t dim, int64_t rank) {
    return dim < 0 ? dim + rank : dim;
}

// An optional tensor, of which null and an empty one both mean that it is not given.
inline bool given(const OptTensor& tensor) {
    return tensor && tensor->numel() > 0;
}

// Refuses the parameter where it is given, or each of several.
using NamedOptional = std::pair<const char*, const OptTensor&>;
void require_not_given(const char* name, const OptTensor& tensor);
void require_not_given(std::initializer_list<NamedOptional> parameters);
template <class... Others>
void require_not_given(const char* name, const OptTensor& tensor, const char* next, const Others&... others) {
    require_not_given(name, tensor);
    require_not_given(next, others...);
}
void require_not_given(const char* name, const OptNumbers& list);

// Refuses a null with 161001 where the argument is needed.
template <class Argument>
void require_given(const char* name, const std::optional<Argument>& argument, const char* expected, bool needed = true) {
    if (needed && !argument) refuse_null(name, expected);
}

inline void require_false(const char* name, bool value) {
    if (value) refuse(name, "false: the engine has no other", "true");
}

std::string shape_text(at::IntArrayRef sizes);

void require_same_shape(const NamedShape& tensor, const NamedShape& reference);

void require_same_type(const char* name, const at::Tensor& tensor, const char* reference_name, const at::Tensor& reference);

void require_last_dims(const char* name, at::IntArrayRef dims, const NamedShape& tensor);

void require_size(const NamedShape& tensor, int64_t dim, int64_t least);

void require_divisor(const char* name, int64_t number, int64_t of);

// Refuses numbers that fall, or are not from 0 to `most`.
void require_rising(const char* name, at::IntArrayRef numbers, int64_t most);

void require_even(const NamedShape& tensor, int64_t dim);

// Refuses strides where a page excludes them; where hardware takes them nevertheless, with TORCH_ACLNN_HOST_MODE=strict only.
void require_contiguous(const char* name, at::TensorList tensors, bool only_if_strict = false);

void require_not_empty(const char* name, const auto& list) {
    if (list.empty()) refuse(name, "at least one tensor", "none");
}

// A list under its documented name, or a number.
struct NamedCount {
    NamedCount(const char* name, int64_t count) : name(name), count(count) {}
    template <class List>
        requires requires(const List& list) { list.size(); }
    NamedCount(const char* name, const List& list) : NamedCount(name, static_cast<int64_t>(list.size())) {}

    const char* name;
    int64_t count;
};

void require_as_many(std::initializer_list<NamedCount> lists, const NamedCount& reference);

// Refuses lists that have neither one value for all directions nor one for each.
void require_one_or(int64_t directions, std::initializer_list<NamedCount> lists);

}  // namespace torch_aclnn::host::aten
