// The shapes and data types that phase 1 expects of tensors, which the record of an entry point states behind the tensor's name:
//
//     call: In self, Dim dim, DType dtype, Out out = like(self)
//
// Each output has such a statement, and each input whose shape follows from other arguments. Phase 1 refuses other tensors with 161002,
// so that what the body computes always fits. The statements are evaluated after each argument has been checked by itself, from first to
// last: those of a rank alone before what the record requires, the others behind it.
#pragma once

#include <c10/util/StringUtil.h>

#include "engine/aten/adapter/attributes.h"
#include "engine/aten/adapter/relations.h"
#include "engine/opapi/handles.h"

namespace torch_aclnn::host::aten {

struct Expected {
    // Accepts any data type.
    Expected(at::IntArrayRef sizes) : sizes(sizes) {}
    Expected(at::IntArrayRef sizes, at::ScalarType type) : sizes(sizes), type(type) {}

    Expected as(at::ScalarType of_type) const { return {sizes, of_type}; }

    at::DimVector sizes;
    std::optional<at::ScalarType> type;  // the type, which must convert to the tensor's, as torch.can_cast has it
};

// The tensor's own shape and data type; of a list, those of each member.
inline Expected like(const at::Tensor& tensor) {
    return {tensor.sizes(), tensor.scalar_type()};
}
std::vector<Expected> like(at::TensorList tensors);
inline Expected shaped_like(const at::Tensor& tensor) {
    return tensor.sizes();
}
std::vector<Expected> shaped_like(at::TensorList tensors);
inline Expected shape(std::initializer_list<int64_t> sizes) {
    return at::IntArrayRef(sizes);
}
inline Expected one_value() {
    return at::IntArrayRef();
}

// The shape has another size of one dimension, which may count from the end, or lacks it.
Expected with_size(at::IntArrayRef sizes, int64_t dim, int64_t size);
Expected without_dim(at::IntArrayRef sizes, int64_t dim);
Expected with_rows(const at::Tensor& tensor, int64_t rows);
// The shape has half of the elements along a dimension, and the data type is the same.
Expected halved(const char* name, const at::Tensor& tensor, int64_t dim);
// The shape lacks the dimensions that are reduced or, with `keep`, has one element in each. No dimensions mean all.
Expected reduced(const at::Tensor& tensor, at::IntArrayRef dims, bool keep);
// The shape is that of a reduction that is not defined for no elements, such as a maximum.
Expected chosen(const at::Tensor& self, at::IntArrayRef dims, bool keep);
Expected broadcast(std::initializer_list<NamedShape> operands);

// Some callers pass a tensor without elements for an output that they do not want, or one of either of two shapes.
struct Either {
    Expected first, second;
};
inline Either either(const Expected& first, const Expected& second) {
    return {first, second};
}
template <class Statement = Expected>
struct OrEmpty {
    Statement wanted;
};
template <class Statement = Expected>
OrEmpty<Statement> or_empty(const Statement& wanted) {
    return {wanted};
}
// The shape of an output to which nothing is written unless the caller asks for it.
template <class Statement = Expected>
struct IfWanted {
    bool wanted;
    Statement expected;
};
template <class Statement = Expected>
IfWanted<Statement> if_wanted(bool wanted, const Statement& expected) {
    return {wanted, expected};
}
// Any shape of this number of elements: the caller may omit dimensions of one element, or add some.
struct Elements {
    int64_t count;
    bool or_more = false;
};
inline Elements elements(int64_t count) {
    return {count};
}
inline Elements elements_from(int64_t least) {
    return {least, true};
}
inline Elements as_many_as(const at::Tensor& tensor) {
    return {tensor.numel()};
}
inline NamedCount as_many_as(const NamedCount& other) {
    return other;
}
struct BroadcastsTo {
    at::DimVector sizes;
};
inline BroadcastsTo broadcasts_to(at::IntArrayRef sizes) {
    return {at::DimVector(sizes)};
}
inline BroadcastsTo broadcasts_to(const at::Tensor& tensor) {
    return broadcasts_to(tensor.sizes());
}
inline BroadcastsTo broadcasts_to(const Expected& expected) {
    return {expected.sizes};
}
// The tensor has as many dimensions as the other one, and no larger sizes, but in one dimension. An empty tensor may have any shape.
struct Within {
    NamedShape other;
    int64_t except_dim;
};
inline Within positions_within(const NamedShape& self, int64_t dim) {
    return {self, from_front(dim, std::max<int64_t>(self.sizes.size(), 1))};
}
// The tensor has as many dimensions as the other one, and no smaller sizes.
struct Covers {
    NamedShape other;
};
inline Covers covers(const NamedShape& other) {
    return {other};
}
// Any shape of this number of elements, or a multiple of it.
struct Multiple {
    int64_t divisor;
};
inline Multiple multiple_of(int64_t divisor) {
    return {divisor};
}
struct Rank {
    int64_t least, most;
};
inline Rank rank(int64_t count) {
    return {count, count};
}
inline Rank rank(int64_t least, int64_t most) {
    return {least, most};
}
inline Rank rank_from(int64_t least) {
    return {least, kMaxRank};
}
struct RowsFrom {
    int64_t least;
};
inline RowsFrom rows_from(int64_t least) {
    return {least};
}
// The shape is not checked, for a reason that the record gives.
struct AnyShape {};
inline AnyShape any_shape() {
    return {};
}

// `unit` says what the sizes count where they are not those of a tensor.
void require_sizes(const char* name, at::IntArrayRef sizes, const Expected& expected, const char* unit = "");
void require_rank(const char* name, at::IntArrayRef sizes, const Rank& expected);

void require_expected(const char* name, const at::Tensor& tensor, const Expected& expected);
void require_expected(const char* name, const at::Tensor& tensor, const Either& expected);
void require_expected(const char* name, const at::Tensor& tensor, const Elements& expected);
void require_expected(const char* name, const at::Tensor& tensor, const BroadcastsTo& expected);
void require_expected(const char* name, const at::Tensor& tensor, const Within& expected);
void require_expected(const char* name, const at::Tensor& tensor, const Covers& expected);
void require_expected(const char* name, const at::Tensor& tensor, const Multiple& expected);
void require_expected(const char* name, const at::Tensor& tensor, const Rank& expected);
void require_expected(const char* name, const at::Tensor& tensor, const RowsFrom& expected);
template <class Statement>
void require_expected(const char* name, const at::Tensor& tensor, const OrEmpty<Statement>& expected) {
    if (tensor.numel() != 0) require_expected(name, tensor, expected.wanted);
}
template <class Statement>
void require_expected(const char* name, const at::Tensor& tensor, const IfWanted<Statement>& expected) {
    if (expected.wanted) require_expected(name, tensor, expected.expected);
}
template <class Statement>
void require_expected(const char* name, at::TensorList tensors, const std::vector<Statement>& expected) {
    if (tensors.size() != expected.size()) refuse(name, c10::str(expected.size(), " tensors"), std::to_string(tensors.size()));
    for (size_t i = 0; i < expected.size(); i++) require_expected(name, tensors[i], expected[i]);
}
template <class List>
    requires requires(const List& list) { list.size(); }
void require_expected(const char* name, const List& list, const NamedCount& expected) {
    require_as_many({{name, list}}, expected);
}
void require_expected(const char*, const auto&, AnyShape) {}
template <class Tensors, class Statement>
    requires(!std::is_same_v<Statement, AnyShape>)
void require_expected(const char* name, const std::optional<Tensors>& given, const Statement& expected) {
    if (given) require_expected(name, *given, expected);
}

}  // namespace torch_aclnn::host::aten
