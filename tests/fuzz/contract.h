// What the documents promise of a call (docs/operators), said again without the engine's code, its limits and products included: a number
// that both took from one place would be wrong in both.
#pragma once

#include <set>

#include "entry_points.h"

namespace fuzz {

// Numbers that are too large for 64 bits must not wrap here.
using Wide = __int128;

// The codes that phase 1 may return: one, or two where a call is wrong in two ways that have no order.
std::set<int> expected_codes(const Call& call);

// Whether the call keeps the rules that only its operator has; defined in contract_operators.cpp.
bool keeps_operator_rules(const Call& call);

bool is_null(const TensorSpec& t);  // whether it is not given, or has too many dimensions for a handle
bool exists(const TensorSpec& t);   // whether the handle is alive
bool is_empty(const TensorSpec& t);
Wide element_count(const TensorSpec& t);

// Calls `visit` with the distance in bytes from the allocation's first to each element's first, for a tensor of few elements.
template <class Visit>
void each_element(const TensorSpec& t, Visit visit) {
    if (is_empty(t)) return;
    std::vector<int64_t> index(t.sizes.size());
    for (;;) {
        int64_t element = t.offset;
        for (size_t d = 0; d < index.size(); ++d) element += index[d] * t.strides[d];
        visit(static_cast<size_t>(static_cast<int64_t>(t.shift) + element * item_size(t.dtype)));
        size_t d = index.size();
        while (d > 0 && ++index[d - 1] == t.sizes[d - 1]) index[--d] = 0;
        if (d == 0) return;
    }
}

// Which of its documents the engine follows.
enum class Product { inference, training, a2 };
Product product();

}  // namespace fuzz
