// The kinds of numbers, texts and arrays that are checked when they are read; require_...() refuse with 161002. What only one family has is
// in its source file.
#pragma once

#include <initializer_list>
#include <limits>
#include <string_view>

#include "engine/aten/adapter/kinds.h"
#include "engine/opapi/handles.h"
#include "engine/runtime/error/error.h"

namespace torch_aclnn::host::aten {

constexpr int64_t kUnbounded = std::numeric_limits<int64_t>::max();
constexpr double kInfinity = std::numeric_limits<double>::infinity();
// Stands for any size of a dimension, and for no lower bound of a number.
constexpr int64_t kAny = std::numeric_limits<int64_t>::min();

void require_between(const char* name, int64_t number, int64_t lowest, int64_t highest);

// A NaN lies in no range.
void require_number_between(const char* name, double number, double lowest, double highest);

void require_count(const char* name, size_t got, size_t count, size_t or_count, size_t or_else_count);

// ATen's kernels count steps and windows as int.
void require_values(const char* name, at::IntArrayRef values, int64_t lowest, int64_t highest = std::numeric_limits<int32_t>::max());

// A tensor of rank 0 counts as one of rank 1.
void require_dim(const char* name, int64_t dim, uint64_t rank);
void require_distinct_dims(const char* name, const aclIntArray* dims, uint64_t rank);  // null: none are given

// Numbers that come as an aclScalar and must be at least 0, above 0, or anything but 0.
at::Scalar read_not_negative(const char* name, const aclScalar* handle);
at::Scalar read_nonzero(const char* name, const aclScalar* handle);

std::string_view read_gelu_mode(const char* name, int64_t mode);

std::string_view read_choice(const char* name, const char* text, std::initializer_list<std::string_view> choices);

// A text of a template's argument.
template <size_t count>
struct Literal {
    constexpr Literal(const char (&literal)[count]) { std::copy_n(literal, count, characters); }
    constexpr operator std::string_view() const { return {characters, count - 1}; }
    char characters[count];
};

void require_one_of(const char* name, int64_t number, std::initializer_list<int64_t> choices);

inline std::string_view read_text(const char*, const char* text) {
    return text;
}

inline int64_t at_direction(at::IntArrayRef values, int64_t d) {
    return values[values.size() == 1 ? 0 : d];
}
using Int128 = __int128;  // for sums and products of attributes, which may have any size

namespace kind {

template <class Number, int64_t lowest, int64_t highest>
struct Between : PlainKind<Number> {
    static Number read(const char* name, Number number) {
        if constexpr (std::is_floating_point_v<Number>)
            require_number_between(name, number, lowest, highest == kUnbounded ? kInfinity : static_cast<double>(highest));
        else
            require_between(name, number, lowest, highest);
        return number;
    }
};
template <class Number, int64_t... choices>
struct OneOfNumbers : PlainKind<Number> {
    static Number read(const char* name, Number number) {
        if constexpr (!std::is_same_v<Number, bool>)
            require_one_of(name, number, {choices...});
        else if (((number != choices) && ...))
            refuse(name, number ? "false" : "true", number ? "true" : "false");
        return number;
    }
};
using Text = Kind<const char*, std::string_view, std::string_view, read_text>;
using OptText = OptionalKind<const char*, std::string_view, read_text>;
// A null text means the first of several.
struct TextOrFirst : Text {
    static constexpr bool nullable = true;
};
template <class Base, Literal first, Literal... others>
struct OneOfTexts : Base {
    static std::string_view read(const char* name, const char* text) {
        return text == nullptr && Base::nullable ? first : read_choice(name, text, {first, others...});
    }
};
using NotNegative = Between<int64_t, 0, kUnbounded>;
using Positive = Between<int64_t, 1, kUnbounded>;

using NotNegativeScalar = Kind<const aclScalar*, at::Scalar, const at::Scalar&, read_not_negative>;
using NonzeroScalar = Kind<const aclScalar*, at::Scalar, const at::Scalar&, read_nonzero>;

// A dimension of the first tensor, or several that differ. They are checked once its rank is known.
struct Dim : Int {
    static constexpr auto require_dims = require_dim;
};
struct Dims : Ints {
    static constexpr auto require_dims = require_distinct_dims;
};
struct OptDims : OptInts {
    static constexpr auto require_dims = require_distinct_dims;
};

template <size_t count, size_t or_count, size_t or_else_count>
struct CountedInts : Ints {
    static at::IntArrayRef read(const char* name, const aclIntArray* array) {
        const at::IntArrayRef values = read_ints(name, array);
        require_count(name, values.size(), count, or_count, or_else_count);
        return values;
    }
};
template <size_t count>
using Exactly = CountedInts<count, count, count>;

template <class Counted, int64_t lowest>
struct BoundedInts : Counted {
    static at::IntArrayRef read(const char* name, const aclIntArray* array) {
        const at::IntArrayRef values = Counted::read(name, array);
        require_values(name, values, lowest);
        return values;
    }
};
// The parameters of a window, a number for each of `count` directions. One number applies to all directions; none, where that is allowed,
// means the default.
template <size_t count>
using Steps = BoundedInts<CountedInts<count, 1, 1>, 1>;  // its size, its stride, its dilation
template <size_t count>
using OptSteps = BoundedInts<CountedInts<count, 1, 0>, 1>;
template <size_t count>
using Pads = BoundedInts<CountedInts<count, 1, 1>, 0>;
// The sizes that an output shall have.
template <size_t count>
using Sizes = BoundedInts<Exactly<count>, 0>;
template <size_t count>
using PositiveSizes = BoundedInts<Exactly<count>, 1>;

template <size_t count>
struct MaskOf : Bools {
    static std::vector<unsigned char> read(const char* name, const aclBoolArray* array) {
        std::vector<unsigned char> values = read_bools(name, array);
        require_count(name, values.size(), count, count, count);
        return values;
    }
};

using GeluMode = Kind<int64_t, std::string_view, std::string_view, read_gelu_mode>;

}  // namespace kind

}  // namespace torch_aclnn::host::aten
