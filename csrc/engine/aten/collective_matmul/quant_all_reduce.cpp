// Sums over ranks of numbers of eight or four bits with scales, which travel as float32: a scale counts for 128 numbers along the last
// dimension, or, in pairs of powers of two, for 32 (MX).

#include "engine/aten/collective_matmul/collective_matmul.h"
#include "engine/aten/matmul/matmul.h"
#include "vocabulary/collective_matmul/quant_all_reduce_calls.h"

namespace {

struct ScaledNumbers {
    const PackableTensor &x, &scales;

    bool has_pairs() const { return scales.sizes().size() == x.sizes().size() + 1; }
    Expected sizes_of_scales() const {
        const std::vector<int64_t> sizes = x.sizes();
        return has_pairs() ? mx_scales(sizes, -1) : with_size(sizes, -1, (sizes.back() + 127) / 128);
    }
    int64_t rows() const { return c10::multiply_integers(x.sizes()) / std::max<int64_t>(x.sizes().back(), 1); }
    at::Tensor values() const {
        const at::Tensor given = to_double(scales.values()), each = has_pairs() ? given.flatten(-2) : given;
        const int64_t columns = x.sizes().back();
        return (to_double(x.values()) * each.repeat_interleave(has_pairs() ? 32 : 128, -1).narrow(-1, 0, columns)).to(at::kFloat);
    }
};

Expected rows_of_rank(const RanksGroup& group, const ScaledNumbers& numbers) {
    require_parts("x", numbers.rows(), *group);
    return shape({numbers.rows() / group->size(), numbers.x.sizes().back()});
}

}  // namespace
