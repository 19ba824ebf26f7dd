#include "engine/aten/adapter/relations.h"

#include <c10/util/StringUtil.h>

#include "engine/runtime/config/config.h"
#include "engine/runtime/error/error.h"

namespace torch_aclnn::host::aten {

std::string shape_text(at::IntArrayRef sizes) {
    return c10::str("shape ", sizes);
}

void require_same_shape(const NamedShape& tensor, const NamedShape& reference) {
    if (tensor.sizes != reference.sizes)
        refuse(tensor.name, "the shape of " + std::string(reference.name) + ", " + c10::str(reference.sizes), shape_text(tensor.sizes));
}

void require_last_dims(const char* name, at::IntArrayRef dims, const NamedShape& tensor) {
    const size_t rank = tensor.sizes.size();
    if (dims.empty()) refuse(name, c10::str("at least one of the dimensions of ", tensor.name, ", ", tensor.sizes), "none");
    if (dims.size() > rank || tensor.sizes.slice(rank - dims.size()) != dims)
        refuse(name, c10::str("the last dimensions of ", tensor.name, ", ", tensor.sizes), c10::str(dims));
}

void require_a_row(const NamedShape& tensor) {
    if (!tensor.sizes.empty() && tensor.sizes[0] == 0) refuse(tensor.name, "at least one row", shape_text(tensor.sizes));
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

void require_no_gaps_if_strict(const char* name, const at::Tensor& tensor) {
    if (config().strict && !tensor.is_contiguous())
        refuse(name, "elements without gaps, as TORCH_ACLNN_HOST_MODE=strict asks", c10::str("strides ", tensor.strides()));
}

void require_as_many(std::initializer_list<NamedCount> lists, const NamedCount& reference) {
    for (const NamedCount& list : lists)
        if (list.count != reference.count)
            refuse(list.name, std::to_string(reference.count) + " values, as " + reference.name + " has", std::to_string(list.count));
}

}  // namespace torch_aclnn::host::aten
