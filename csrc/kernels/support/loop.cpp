#include "kernels/support/loop.h"

#include <algorithm>

namespace torch_aclnn::kernels {

void move_to_end(Loop& loop, std::initializer_list<int64_t*> strides, int d) {
    std::rotate(loop.size + d, loop.size + d + 1, loop.size + loop.rank);
    for (int64_t* stride : strides) std::rotate(stride + d, stride + d + 1, stride + loop.rank);
}

void simplify(Loop& loop, std::initializer_list<int64_t*> strides) {
    int rank = 0;
    for (int d = 0; d < loop.rank; ++d) {
        const int64_t size = loop.size[d];
        if (size == 1) continue;
        const bool mergeable =
            rank > 0 && std::all_of(strides.begin(), strides.end(), [&](int64_t* s) { return s[rank - 1] == s[d] * size; });
        if (!mergeable) loop.size[rank++] = 1;
        loop.size[rank - 1] *= size;
        for (int64_t* stride : strides) stride[rank - 1] = stride[d];
    }
    if (rank == 0) {  // without dimensions there is one element
        loop.size[rank++] = 1;
        for (int64_t* stride : strides) stride[0] = 1;
    }
    loop.rank = rank;
}

int64_t element_count(const Loop& loop) {
    int64_t count = 1;
    for (int d = 0; d < loop.rank; ++d) count *= loop.size[d];
    return count;
}

}  // namespace torch_aclnn::kernels
