#include "engine/aten/adapter/relations.h"

#include <c10/util/StringUtil.h>

#include "engine/aten/adapter/attributes.h"
#include "engine/runtime/config/config.h"

namespace torch_aclnn::host::aten {

std::string shape_text(at::IntArrayRef sizes) {
    return c10::str("shape ", sizes);
}

void require_not_given(const char* name, const OptTensor& tensor) {
    if (given(tensor)) refuse(name, "null: the engine has none", shape_text(tensor->sizes()));
}

void require_not_given(std::initializer_list<NamedOptional> parameters) {
    for (const auto& [name, tensor] : parameters) require_not_given(name, tensor);
}

void require_not_given(const char* name, const OptNumbers& list) {
    if (list && !list->empty()) refuse(name, "null: the engine has none", c10::str(at::IntArrayRef(*list)));
}

void require_same_shape(const NamedShape& tensor, const NamedShape& reference) {
    if (tensor.sizes != reference.sizes)
        refuse(tensor.name, "the shape of " + std::string(reference.name) + ", " + c10::str(reference.sizes), shape_text(tensor.sizes));
}

void require_same_type(const char* name, const at::Tensor& tensor, const char* reference_name, const at::Tensor& reference) {
    if (tensor.scalar_type() != reference.scalar_type())
        refuse(name, c10::str("the data type of ", reference_name, ", ", reference.scalar_type()), c10::toString(tensor.scalar_type()));
}

void require_last_dims(const char* name, at::IntArrayRef dims, const NamedShape& tensor) {
    const size_t rank = tensor.sizes.size();
    if (dims.empty()) refuse(name, c10::str("at least one of the dimensions of ", tensor.name, ", ", tensor.sizes), "none");
    if (dims.size() > rank || tensor.sizes.slice(rank - dims.size()) != dims)
        refuse(name, c10::str("the last dimensions of ", tensor.name, ", ", tensor.sizes), c10::str(dims));
}

void require_size(const NamedShape& tensor, int64_t dim, int64_t least) {
    const int64_t rank = tensor.sizes.size(), place = from_front(dim, rank);
    if (place >= 0 && place < rank && tensor.sizes[place] < least)
        refuse(tensor.name, c10::str("at least ", least, " in dimension ", dim), shape_text(tensor.sizes));
}

void require_divisor(const char* name, int64_t number, int64_t of) {
    if (number == 0 || of % number != 0) refuse(name, c10::str("a divisor of ", of), std::to_string(number));
}

void require_rising(const char* name, at::IntArrayRef numbers, int64_t most) {
    const bool rising = std::is_sorted(numbers.begin(), numbers.end());
    if (!rising || (!numbers.empty() && (numbers.front() < 0 || numbers.back() > most)))
        refuse(name, c10::str("rising numbers from 0 ", most == kUnbounded ? "on" : "to " + std::to_string(most)), c10::str(numbers));
}

void require_even(const NamedShape& tensor, int64_t dim) {
    const int64_t rank = tensor.sizes.size(), place = from_front(dim, rank);
    if (place < 0 || place >= rank || tensor.sizes[place] % 2 != 0)
        refuse(tensor.name, c10::str("an even dimension ", dim), shape_text(tensor.sizes));
}

void require_one_or(int64_t directions, std::initializer_list<NamedCount> lists) {
    for (const NamedCount& list : lists)
        if (list.count != 1 && list.count != directions)
            refuse(list.name, "1 value or " + std::to_string(directions), std::to_string(list.count));
}

void require_contiguous(const char* name, at::TensorList tensors, bool only_if_strict) {
    for (const at::Tensor& tensor : tensors)
        if (!tensor.is_contiguous() && (config().strict || !only_if_strict))
            refuse(name, c10::str("elements without gaps", only_if_strict ? ", as TORCH_ACLNN_HOST_MODE=strict asks" : ""),
                   c10::str("strides ", tensor.strides()));
}

void require_as_many(std::initializer_list<NamedCount> lists, const NamedCount& reference) {
    for (const NamedCount& list : lists)
        if (list.count != reference.count)
            refuse(list.name, std::to_string(reference.count) + " values, as " + reference.name + " has", std::to_string(list.count));
}

}  // namespace torch_aclnn::host::aten
