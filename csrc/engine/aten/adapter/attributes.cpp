#include "engine/aten/adapter/attributes.h"

#include <ATen/core/Formatting.h>
#include <c10/util/StringUtil.h>

#include <cmath>

namespace torch_aclnn::host::aten {

void require_between(const char* name, int64_t number, int64_t lowest, int64_t highest) {
    if (lowest <= number && number <= highest) return;
    const std::string first = std::to_string(lowest), last = std::to_string(highest);
    const std::string range = "a value in " + first + ".." + last;
    refuse(name, highest == kUnbounded ? "at least " + first : lowest == kAny ? "at most " + last : range, std::to_string(number));
}

void require_number_between(const char* name, double number, double lowest, double highest) {
    if (lowest <= number && number <= highest) return;
    refuse(name, std::isinf(highest) ? c10::str("at least ", lowest) : c10::str("a number from ", lowest, " to ", highest),
           c10::str(number));
}

void require_values(const char* name, at::IntArrayRef values, int64_t lowest, int64_t highest) {
    if (std::any_of(values.begin(), values.end(), [&](int64_t value) { return value < lowest; }))
        refuse(name, c10::str("values of at least ", lowest), c10::str(values));
    if (std::any_of(values.begin(), values.end(), [&](int64_t value) { return value > highest; }))
        refuse(name, c10::str("values up to ", highest), c10::str(values));
}

void require_count(const char* name, size_t got, size_t count, size_t or_count, size_t or_else_count) {
    if (got == count || got == or_count || got == or_else_count) return;
    std::string expected = std::to_string(count);
    if (or_count != count) expected += " or " + std::to_string(or_count);
    if (or_else_count != or_count) expected += " or " + std::to_string(or_else_count);
    refuse(name, expected + (count == 1 ? " value" : " values"), std::to_string(got));
}

void require_dim(const char* name, int64_t dim, uint64_t rank) {
    const int64_t dims = std::max<int64_t>(rank, 1);
    if (-dims <= dim && dim < dims) return;
    refuse(name, "a dimension in " + std::to_string(-dims) + ".." + std::to_string(dims - 1), std::to_string(dim));
}

void require_distinct_dims(const char* name, const aclIntArray* dims, uint64_t rank) {
    uint64_t seen = 0;
    if (dims == nullptr) return;
    for (const int64_t dim : dims->values) {
        require_dim(name, dim, rank);
        const uint64_t bit = uint64_t{1} << (dim < 0 ? dim + std::max<int64_t>(rank, 1) : dim);
        if ((seen & bit) != 0) refuse(name, "each dimension once", std::to_string(dim) + " again");
        seen |= bit;
    }
}

at::Scalar read_not_negative(const char* name, const aclScalar* handle) {
    const at::Scalar number = read_scalar(name, handle);
    require_number_between(name, number.toDouble(), 0.0, kInfinity);
    return number;
}

at::Scalar read_nonzero(const char* name, const aclScalar* handle) {
    const at::Scalar number = read_scalar(name, handle);
    if (number.toDouble() == 0) refuse(name, "a number other than 0", c10::str(number));
    return number;
}

std::string_view read_gelu_mode(const char* name, int64_t mode) {
    if (mode != 0 && mode != 1) refuse(name, "0 (none) or 1 (tanh)", std::to_string(mode));
    return mode == 1 ? "tanh" : "none";
}

void require_one_of(const char* name, int64_t number, std::initializer_list<int64_t> choices) {
    if (std::find(choices.begin(), choices.end(), number) != choices.end()) return;
    refuse(name, (choices.size() > 1 ? "one of " : "") + c10::Join(", ", choices), std::to_string(number));
}

std::string_view read_choice(const char* name, const char* text, std::initializer_list<std::string_view> choices) {
    if (text == nullptr) refuse_null(name, "a text");
    for (const std::string_view choice : choices)
        if (choice == text) return choice;
    std::string expected;
    for (const std::string_view choice : choices) expected += (expected.empty() ? "" : ", ") + std::string(choice);
    refuse(name, (choices.size() > 1 ? "one of " : "") + expected, '"' + std::string(text) + '"');
}

}  // namespace torch_aclnn::host::aten
