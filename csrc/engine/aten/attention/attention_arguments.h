// What the versions of attention check of their arguments, and the shape of its result.
#pragma once

#include "engine/aten/adapter/adapter.h"
#include "engine/aten/attention/fused_attention.h"

namespace torch_aclnn::host::aten {

// Refuses tensors that do not have a dimension for each letter of the layout, or whose numbers of heads do not fit together.
inline void require_attention(std::string_view layout, int64_t heads, const NamedShape& query, const NamedShape& key,
                              const NamedShape& value) {
    for (const NamedShape* tensor : {&query, &key, &value})
        if (tensor->sizes.size() != layout.size()) refuse(tensor->name, c10::str("the dimensions ", layout), shape_text(tensor->sizes));
    const bool joined = layout.back() == 'H';
    const size_t place = joined ? 2 : layout.find('N');  // the dimension of the heads
    const int64_t of_query = query.sizes[place], features = joined ? of_query / heads : 1;
    if (features == 0 || of_query != heads * features)
        refuse("query", c10::str("headNum, ", heads, joined ? ", as a divisor of dimension " : ", as dimension ", place),
               std::to_string(of_query));
    const int64_t key_heads = key.sizes[place] / features;
    if (key_heads == 0 || heads % key_heads != 0 || key.sizes[place] != key_heads * features)
        refuse("key", c10::str("heads that divide the query's ", heads), shape_text(key.sizes));
    if (joined ? value.sizes[place] % key_heads != 0 : value.sizes[place] != key_heads)
        refuse("value", c10::str("the key's ", key_heads, " heads"), shape_text(value.sizes));
    for (size_t d = 0; d < layout.size(); d++) {
        if ((layout[d] == 'B' || layout[d] == 'D') && key.sizes[d] != query.sizes[d])
            refuse("key", c10::str(query.sizes[d], " in dimension ", d, ", as query has"), shape_text(key.sizes));
        if ((layout[d] == 'B' || layout[d] == 'S' || layout[d] == 'T') && value.sizes[d] != key.sizes[d])
            refuse("value", c10::str(key.sizes[d], " in dimension ", d, ", as key has"), shape_text(value.sizes));
        if (layout[d] == 'S') require_size(key, static_cast<int64_t>(d), 1);
    }
}

// The mask of the modes that are causal has a fixed size, and says no more than the mode.
inline bool is_triangle(at::IntArrayRef mask) {
    return mask.size() >= 2 && mask.size() <= 4 && mask[mask.size() - 2] == 2048 && mask.back() == 2048 &&
           c10::multiply_integers(mask) == 2048 * 2048;
}
constexpr char kTriangle[] = "the triangle of 2048 x 2048 of this sparseMode";

// The result has the query's heads and positions, and the value's features.
inline Expected attended_shape(std::string_view layout, int64_t heads, const at::Tensor& query, const at::Tensor& key,
                               const at::Tensor& value) {
    Expected expected = like(query);
    const int64_t last = query.dim() - 1, of_query = query.size(last);
    // In layouts that end with H the last dimension is of all heads. The key and the value may have fewer heads than the query.
    expected.sizes.back() = layout.back() == 'H' ? heads * (value.size(last) / (key.size(last) / (of_query / heads))) : value.size(last);
    return expected;
}

}  // namespace torch_aclnn::host::aten
