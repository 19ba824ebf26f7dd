// Rows of tokens in caches of blocks of positions.
#pragma once

#include <ATen/ATen.h>

#include "engine/aten/numerics/indices.h"

namespace torch_aclnn::host::aten {

// Rows of {tokens, ...} go to the places of {blocks, positions, ...} that their slots name; a token without a slot goes nowhere.
inline void put_rows(const char* name, const at::Tensor& cache, const at::Tensor& slots, const at::Tensor& rows) {
    const at::Tensor kept = at::nonzero(slots.flatten().ge(0)).squeeze(1), places = slots.flatten().index_select(0, kept).to(at::kLong);
    require_indices(name, places, cache.size(0) * cache.size(1));
    at::DimVector sizes{kept.numel()};
    sizes.append(cache.sizes().begin() + 2, cache.sizes().end());
    const at::Tensor chosen = rows.index_select(0, kept).reshape(sizes).to(cache.scalar_type());
    at::Tensor target = cache;
    target.index_put_({places.floor_divide(cache.size(1)), places.remainder(cache.size(1))}, chosen);
}

}  // namespace torch_aclnn::host::aten
