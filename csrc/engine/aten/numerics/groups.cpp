#include "engine/aten/numerics/groups.h"

#include <c10/util/StringUtil.h>

namespace torch_aclnn::host::aten {

std::vector<Range> groups_of(at::IntArrayRef list, int64_t type, int64_t whole, int64_t weights) {
    if (type == 2 && list.size() % 2 != 0) refuse("groupList", "pairs of a number and a size", c10::str(list));
    std::vector<Range> groups;
    int64_t first = 0;
    for (size_t i = 0; i < list.size(); i += type == 2 ? 2 : 1) {
        const int64_t size = type == 0 ? list[i] - first : list[type == 2 ? i + 1 : i];
        if (size < 0 || size > whole - first)
            refuse("groupList", c10::str("groups that lie in ", whole, " rows, one below the other"), c10::str(list));
        groups.push_back({first, size, type == 2 ? list[i] : static_cast<int64_t>(i)});
        if (groups.back().weight < 0 || groups.back().weight >= weights)
            refuse("groupList", c10::str("groups of the ", weights, " weights"), c10::str(list));
        first += size;
    }
    return groups;
}

std::vector<int64_t> numbers(const OptTensor& list) {
    if (!list) return {};
    const at::Tensor longs = list->to(at::kLong).contiguous();
    return {longs.const_data_ptr<int64_t>(), longs.const_data_ptr<int64_t>() + longs.numel()};
}

}  // namespace torch_aclnn::host::aten
