// Sums over ranks of numbers of eight or four bits with scales, which travel as float32: a scale counts for 128 numbers along the last
// dimension, or, in pairs of powers of two, for 32 (MX).
#include <ATen/ATen.h>

#include "engine/aten/adapter/adapter.h"
#include "engine/aten/adapter/results.h"
#include "engine/aten/composite/collective_products.h"
#include "engine/aten/composite/products.h"
#include "engine/aten/composite/quantised.h"

#define ATEN_FAMILY "products over ranks"
using namespace torch_aclnn::host::aten;

namespace {

using torch_aclnn::host::OperationKind;
using torch_aclnn::host::refuse;

struct ScaledNumbers {
    const PackableTensor &x, &scales;

    bool has_pairs() const { return scales.sizes().size() == x.sizes().size() + 1; }
    void require() const {
        const std::vector<int64_t> sizes = x.sizes();
        if (sizes.size() != 2 && sizes.size() != 3) refuse("x", "2 or 3 dimensions", shape_text(at::IntArrayRef(sizes)));
        const Expected each = has_pairs() ? mx_scales(sizes, -1) : with_size(sizes, -1, (sizes.back() + 127) / 128);
        require_expected("scales", scales.placeholder(), at::IntArrayRef(each.sizes));
    }
    int64_t rows() const { return c10::multiply_integers(x.sizes()) / std::max<int64_t>(x.sizes().back(), 1); }
    at::Tensor values() const {
        const at::Tensor given = to_double(scales.values()), each = has_pairs() ? given.flatten(-2) : given;
        const int64_t columns = x.sizes().back();
        return (to_double(x.values()) * each.repeat_interleave(has_pairs() ? 32 : 128, -1).narrow(-1, 0, columns)).to(at::kFloat);
    }
};

void prepare(const RanksGroup& group, const ScaledNumbers& numbers, OperationKind kind, const at::Tensor& output) {
    numbers.require();
    group->set_record(kind, output, HCCL_REDUCE_SUM);
}
// Below each other, the rows of this rank.
Expected rows_of_rank(const RanksGroup& group, const ScaledNumbers& numbers) {
    if (numbers.rows() % group->size() != 0) refuse("x", c10::str("rows for ", group->size(), " ranks"), std::to_string(numbers.rows()));
    return shape({numbers.rows() / group->size(), numbers.x.sizes().back()});
}

}  // namespace

#define NUMBERS_OF_RANKS (Packable, x), (Packable, scales), (CommGroup, group), (ReduceOp, reduceOp)
ATEN_CHECKED_ENTRY(aclnnQuantAllReduce, INT8 | ANY_FEW_BITS, prepare(group, {x, scales}, OperationKind::all_reduce, output),
                   NUMBERS_OF_RANKS, (Out, output, Expected(x.sizes()))) {
    write(output, group->all_reduce((ScaledNumbers{x, scales}).values()));
}
ATEN_CHECKED_ENTRY(aclnnQuantReduceScatter, INT8 | ANY_FEW_BITS, prepare(group, {x, scales}, OperationKind::reduce_scatter, output),
                   NUMBERS_OF_RANKS, (Out, output, rows_of_rank(group, {x, scales}))) {
    write(output, group->reduce_scatter((ScaledNumbers{x, scales}).values().flatten(0, -2)));
}
