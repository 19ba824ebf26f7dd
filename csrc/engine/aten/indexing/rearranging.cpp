// Data movement in more than one step: pieces side by side, a shape and an order, slices with masks.

#include "vocabulary/indexing/rearranging_calls.h"

namespace {

// Each tensor is cut into `chunks` pieces along the dimension, padded with zeros at the end, and the flat pieces lie side by side.
Expected side_by_side(at::TensorList tensors, int64_t dim, int64_t chunks) {
    for (const at::Tensor& tensor : tensors)
        if (tensor.dim() <= dim || tensor.numel() == 0)
            refuse("tensors", c10::str("elements and a dimension ", dim), shape_text(tensor.sizes()));
    const at::IntArrayRef front = tensors[0].sizes().slice(0, dim);
    int64_t columns = 0;
    for (const at::Tensor& tensor : tensors) {
        if (tensor.sizes().slice(0, dim) != front || tensor.scalar_type() != tensors[0].scalar_type())
            refuse("tensors", c10::str("the data type of the first and its sizes in front of dimension ", dim, ", ", front),
                   c10::str(dtype_name(tensor.scalar_type()), " and ", shape_text(tensor.sizes())));
        const int64_t size = tensor.size(dim), piece = size / chunks + (size % chunks != 0);
        int64_t column = 0;
        if (__builtin_mul_overflow(piece, c10::multiply_integers(tensor.sizes().slice(dim + 1)), &column) ||
            __builtin_add_overflow(columns, column, &columns))
            refuse("tensors", "fewer than 2^63 elements", shape_text(tensor.sizes()));
    }
    Expected expected(front);
    expected.sizes.push_back(chunks);
    expected.sizes.push_back(columns);
    return expected;
}

void require_order(const char* name, at::IntArrayRef order, int64_t rank) {
    std::vector<int64_t> sorted(order.begin(), order.end());
    std::sort(sorted.begin(), sorted.end());
    for (size_t i = 0; i < sorted.size(); i++)
        if (static_cast<int64_t>(sorted.size()) != rank || sorted[i] != static_cast<int64_t>(i))
            refuse(name, c10::str("the ", rank, " dimensions in any order"), c10::str(order));
    if (static_cast<int64_t>(order.size()) != rank) refuse(name, c10::str(rank, " dimensions"), c10::str(order));
}
// The shape after a permutation and a reshape, of which `transpose_first` says the order.
Expected reordered(const at::Tensor& self, at::IntArrayRef perm, at::IntArrayRef shape, bool transpose_first) {
    require_order("perm", perm, transpose_first ? self.dim() : static_cast<int64_t>(shape.size()));
    int64_t count = 1;
    for (const int64_t size : shape)
        if (__builtin_mul_overflow(count, size, &count)) count = -1;
    if (count != self.numel()) refuse("shape", c10::str("a shape of self's ", self.numel(), " elements"), c10::str(shape));
    Expected expected(shape, self.scalar_type());
    if (!transpose_first)
        for (size_t i = 0; i < perm.size(); i++) expected.sizes[i] = shape[perm[i]];
    return expected;
}

// A bit of the first two masks leaves a dimension's begin or end open. The others would insert, drop or leave out dimensions.
struct Slices {
    at::IntArrayRef begin, end, strides;
    int64_t begin_mask, end_mask;

    void require(int64_t ellipsis, int64_t new_axis, int64_t shrink_axis, const at::Tensor& self) const {
        for (const auto& [name, mask] : {std::pair("ellipsisMask", ellipsis), {"newAxisMask", new_axis}, {"shrinkAxisMask", shrink_axis}})
            require_between(name, mask, 0, 0);
        require_as_many({{"begin", begin}, {"end", end}, {"strides", strides}}, {"self", self.dim()});
        require_values("strides", strides, 1);
    }
    at::Tensor of(at::Tensor x) const {
        for (int64_t d = 0; d < x.dim(); d++)
            x = x.slice(d, is_open(begin_mask, d) ? 0 : begin[d], is_open(end_mask, d) ? x.size(d) : end[d], strides[d]);
        return x;
    }
    static bool is_open(int64_t mask, int64_t d) { return (mask >> d & 1) != 0; }
};

}  // namespace

static Slices slices(const auto& a) {
    return {a.begin, a.end, a.strides, a.beginMask, a.endMask};
}
