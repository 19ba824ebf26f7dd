// Lists that divide the rows or the columns of a tensor among several.
#pragma once

#include "engine/aten/adapter/relations.h"

namespace torch_aclnn::host::aten {

struct Range {
    int64_t first, size, weight;
};
// The groups that a list of ends (type 0), of sizes (1) or of pairs of a number and a size (2) describes.
std::vector<Range> groups_of(at::IntArrayRef list, int64_t type, int64_t whole, int64_t weights);
// Returns the values of a list; none without one.
std::vector<int64_t> numbers(const OptTensor& list);
inline std::vector<int64_t> numbers(const OptNumbers& list) {
    return list.value_or(std::vector<int64_t>());
}

}  // namespace torch_aclnn::host::aten
