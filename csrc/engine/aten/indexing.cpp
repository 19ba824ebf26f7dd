// Reading and writing at positions that a tensor gives.
#include <ATen/ATen.h>

#include <algorithm>
#include <array>

#include "engine/aten/adapter/adapter.h"
#include "engine/aten/adapter/arguments.h"
#include "engine/aten/adapter/results.h"

#define ATEN_FAMILY "indexing"
namespace torch_aclnn::host::aten {
namespace {

using IndexList = c10::List<std::optional<at::Tensor>>;

// The list as ATen has it. The caller says ":" with an empty tensor of self's dtype, which for an integer self looks like an index that
// selects nothing. But indices have one common shape: next to an index that selects something, an empty tensor can only mean ":"; and an
// operation whose tensors are all empty has no ":" on its own, it selects nothing.
IndexList index_list(at::TensorList indices) {
    IndexList list;
    const bool selects = std::any_of(indices.begin(), indices.end(), [](const at::Tensor& index) { return index.numel() > 0; });
    for (const at::Tensor& index : indices) {
        const bool is_index = index.numel() > 0 || index.dim() > 1 || (!selects && at::isIntegralType(index.scalar_type(), false));
        list.push_back(is_index ? std::optional(index.to(index.scalar_type() == at::kBool ? at::kBool : at::kLong)) : std::nullopt);
    }
    return list;
}

// How scatter combines: 0 it replaces, 1 it adds, 2 it multiplies.
std::optional<std::string_view> read_scatter_mode(const char* name, int64_t mode) {
    require_between(name, mode, 0, 2);
    return mode == 0 ? std::nullopt : std::optional<std::string_view>(mode == 1 ? "add" : "multiply");
}

void scatter(at::Tensor& out, int64_t dim, const at::Tensor& index, const at::Tensor& source, std::optional<std::string_view> mode) {
    if (mode)
        out.scatter_(dim, index, source, *mode);
    else
        out.scatter_(dim, index, source);
}
void scatter(at::Tensor& out, int64_t dim, const at::Tensor& index, const at::Scalar& value, std::optional<std::string_view> mode) {
    scatter(out, dim, index, at::full(index.sizes(), value, out.options()), mode);
}

// How scatter_reduce does.
std::string_view read_reduce(const char* name, int64_t reduce) {
    constexpr std::array<std::string_view, 5> names{"sum", "prod", "amax", "amin", "mean"};
    require_between(name, reduce, 1, 5);
    return names[reduce - 1];
}

// Sums of many terms are taken in float32 then.
bool is_half(const at::Tensor& tensor) {
    return at::isReducedFloatingType(tensor.scalar_type());
}

// Most callers send a copy of self as the output already.
at::Tensor& start_from(const at::Tensor& self, at::Tensor& out) {
    return out.data_ptr() == self.data_ptr() && out.strides() == self.strides() ? out : out.copy_(self);
}

}  // namespace

namespace kind {
using ScatterMode = Kind<int64_t, std::optional<std::string_view>, std::optional<std::string_view>, read_scatter_mode>;
using Reduce = Kind<int64_t, std::string_view, std::string_view, read_reduce>;
using BagMode = Between<int64_t, 0, 2>;  // sum, mean, maximum
}  // namespace kind

}  // namespace torch_aclnn::host::aten

using namespace torch_aclnn::host::aten;

ATEN_ENTRY(aclnnIndex, ANY, (In, self), (Tensors, indices), (Out, out)) {
    if (out.numel() > 0) out.copy_(at::index(self, index_list(indices)));
}
ATEN_ENTRY(aclnnIndexPutImpl, REAL | BOOL, (Out, selfRef), (Tensors, indices), (In, values), (Bool, accumulate), (Bool, unsafe)) {
    if (accumulate && is_half(selfRef)) {
        selfRef.copy_(at::index_put(upcast(selfRef), index_list(indices), upcast(values), true));
    } else {
        selfRef.index_put_(index_list(indices), values, accumulate);
    }
}
ATEN_ENTRY(aclnnIndexSelect, NUMBERS, (In, self), (Dim, dim), (In, index), (Out, out)) {
    out.copy_(at::index_select(self, dim, index));
}
// The dimension is replaced by those of the index.
static void require_gathered(const at::Tensor& out, const at::Tensor& self, int64_t dim, const at::Tensor& index) {
    if (self.dim() == 0) torch_aclnn::host::refuse("self", "a dimension to gather from", "none");
    std::vector<int64_t> sizes = self.sizes().vec();
    const auto place = sizes.erase(sizes.begin() + (dim < 0 ? dim + self.dim() : dim));
    sizes.insert(place, index.sizes().begin(), index.sizes().end());
    if (out.sizes() != sizes) torch_aclnn::host::refuse("out", c10::str("shape ", at::IntArrayRef(sizes)), c10::str("shape ", out.sizes()));
}
ATEN_CHECKED_ENTRY(aclnnGatherV2, NUMBERS, require_gathered(out, self, dim, index), (In, self), (Dim, dim), (In, index), (Out, out)) {
    out.copy_(at::index_select(self, dim, index.reshape({-1})).reshape(out.sizes()));
}
ATEN_ENTRY(aclnnGather, NUMBERS, (In, self), (Dim, dim), (In, index), (Out, out)) {
    out.copy_(at::gather(self, dim, index.to(at::kLong)));
}
ATEN_ENTRY(aclnnTake, NUMBERS, (In, self), (In, index), (Out, out)) {
    out.copy_(at::take(self, index.to(at::kLong)));
}
ATEN_ENTRY(aclnnInplacePut, ANY, (Out, selfRef), (In, index), (In, source), (Bool, accumulate)) {
    selfRef.put_(index.to(at::kLong), source, accumulate);
}

ATEN_ENTRY(aclnnScatter, NUMBERS, (In, self), (Dim, dim), (In, index), (In, src), (ScatterMode, reduce), (Out, out)) {
    scatter(start_from(self, out), dim, index.to(at::kLong), src, reduce);
}
ATEN_ENTRY(aclnnScatterValue, NUMBERS, (In, self), (Dim, dim), (In, index), (Scalar, value), (ScatterMode, reduce), (Out, out)) {
    scatter(start_from(self, out), dim, index.to(at::kLong), value, reduce);
}
ATEN_ENTRY(aclnnInplaceScatter, NUMBERS, (Out, selfRef), (Dim, dim), (In, index), (In, src), (ScatterMode, reduce)) {
    scatter(selfRef, dim, index.to(at::kLong), src, reduce);
}
ATEN_ENTRY(aclnnInplaceScatterValue, NUMBERS, (Out, selfRef), (Dim, dim), (In, index), (Scalar, value), (ScatterMode, reduce)) {
    scatter(selfRef, dim, index.to(at::kLong), value, reduce);
}
ATEN_ENTRY(aclnnScatterAdd, ANY, (In, self), (Dim, dim), (In, index), (In, src), (Out, out)) {
    start_from(self, out).scatter_add_(dim, index.to(at::kLong), src);
}
ATEN_ENTRY(aclnnScatterReduce, ANY, (In, self), (Dim, dim), (In, index), (In, src), (Reduce, reduce), (Bool, includeSelf), (Out, out)) {
    out.copy_(at::scatter_reduce(upcast(self), dim, index.to(at::kLong), upcast(src), reduce, includeSelf));
}
ATEN_ENTRY(aclnnInplaceScatterReduce, ANY, (Out, selfRef), (Dim, dim), (In, index), (In, src), (Reduce, reduce), (Bool, includeSelf)) {
    selfRef.copy_(at::scatter_reduce(upcast(selfRef), dim, index.to(at::kLong), upcast(src), reduce, includeSelf));
}

ATEN_ENTRY(aclnnInplaceMaskedFillScalar, FLOATING | INT8 | INT32 | INT64 | BOOL, (Out, selfRef), (In, mask), (Scalar, value)) {
    selfRef.masked_fill_(as_mask(mask), value);
}
ATEN_ENTRY(aclnnInplaceMaskedFillTensor, ANY, (Out, selfRef), (In, mask), (In, value)) {
    selfRef.masked_fill_(as_mask(mask), value.reshape({}));
}
ATEN_ENTRY(aclnnInplaceMaskedScatter, REAL | BOOL, (Out, selfRef), (In, mask), (In, source)) {
    selfRef.masked_scatter_(as_mask(mask), source);
}

ATEN_ENTRY(aclnnIndexAdd, NUMBERS, (In, self), (Dim, dim), (In, index), (In, source), (Scalar, alpha), (Out, out)) {
    start_from(self, out).index_add_(dim, index, source, alpha);
}
ATEN_ENTRY(aclnnIndexCopy, NUMBERS, (In, self), (Dim, dim), (In, index), (In, source), (Out, out)) {
    start_from(self, out).index_copy_(dim, index.to(at::kLong), source);
}
ATEN_ENTRY(aclnnInplaceIndexCopy, NUMBERS, (Out, selfRef), (Dim, dim), (In, index), (In, source)) {
    selfRef.index_copy_(dim, index.to(at::kLong), source);
}
ATEN_ENTRY(aclnnIndexFill, ANY, (In, self), (Dim, dim), (In, index), (Scalar, value), (Out, out)) {
    start_from(self, out).index_fill_(dim, index.to(at::kLong), value);
}
ATEN_ENTRY(aclnnInplaceIndexFill, ANY, (Out, selfRef), (Dim, dim), (In, index), (Scalar, value)) {
    selfRef.index_fill_(dim, index.to(at::kLong), value);
}

// aclnnIndexFillTensor and its in-place form have the positions in an array on the host.
static void require_positions(at::IntArrayRef index, int64_t dim, const at::Tensor& self) {
    const int64_t size = self.dim() == 0 ? 1 : self.size(dim);
    for (const int64_t position : index)
        if (position < -size || position >= size)
            torch_aclnn::host::refuse("index", c10::str("positions in ", -size, "..", size - 1), c10::str(position));
}
static void fill_positions(at::Tensor& filled, int64_t dim, at::IntArrayRef index, const at::Scalar& value) {
    filled.index_fill_(dim, at::tensor(index, at::kLong), value);
}
ATEN_CHECKED_ENTRY(aclnnIndexFillTensor, NUMBERS, require_positions(index, dim, self), (In, self), (Dim, dim), (Ints, index),
                   (Scalar, value), (Out, out)) {
    fill_positions(start_from(self, out), dim, index, value);
}
ATEN_CHECKED_ENTRY(aclnnInplaceIndexFillTensor, NUMBERS, require_positions(index, dim, selfRef), (Out, selfRef), (Dim, dim), (Ints, index),
                   (Scalar, value)) {
    fill_positions(selfRef, dim, index, value);
}

ATEN_ENTRY(aclnnEmbedding, NUMBERS, (In, weight), (In, indices), (Out, out)) {
    out.copy_(at::index_select(weight, 0, indices.reshape({-1})).reshape(out.sizes()));
}
ATEN_ENTRY(aclnnEmbeddingDenseBackward, FLOATING, (In, grad), (In, indices), (NotNegative, numWeights), (Int, paddingIdx),
           (Bool, scaleGradByFreq), (Out, out)) {
    out.copy_(at::embedding_dense_backward(upcast(grad), indices, numWeights, paddingIdx, scaleGradByFreq));
}

// Scales the rows that are named and longer than maxNorm down to it.
ATEN_ENTRY(aclnnEmbeddingRenorm, ANY, (Out, selfRef), (In, indices), (Double, maxNorm), (Double, normType)) {
    at::Tensor rows = upcast(selfRef);
    at::embedding_renorm_(rows, indices, maxNorm, normType);
    selfRef.copy_(rows);
}

// offset2bag has no elements where the backward can do without.
ATEN_ENTRY(aclnnEmbeddingBag, ANY, (In, weight), (In, indices), (In, offsets), (Bool, scaleGradByFreq), (BagMode, mode), (Bool, sparse),
           (OptIn, perSampleWeights), (Bool, includeLastOffset), (Int, paddingIdx), (Out, output), (Out, offset2bag), (Out, bagSize),
           (Out, maxIndices)) {
    const at::Tensor ids = indices.to(at::kLong), starts = offsets.to(at::kLong);
    const auto [bags, unused_bag, unused_size, positions] = at::_embedding_bag(upcast(weight), ids, starts, scaleGradByFreq, mode, sparse,
                                                                               upcast(perSampleWeights), includeLastOffset, paddingIdx);
    const at::Tensor bag = at::searchsorted(starts.narrow(0, 0, bagSize.numel()), at::arange(ids.numel()), false, true) - 1;
    write(output, bags);
    if (offset2bag.numel() > 0) write(offset2bag, bag);
    write(bagSize, at::bincount(bag.masked_select(ids != paddingIdx), {}, bagSize.numel()));
    if (maxIndices.dim() == 2)
        write(maxIndices, positions);
    else
        maxIndices.zero_();
}

// Sums the values of equal indices: uniqueIndices says which row of the result each goes to.
ATEN_ENTRY(aclnnCoalesceSparse, ANY, (In, uniqueLen), (In, uniqueIndices), (In, indices), (In, values), (Out, newIndices),
           (Out, newValues)) {
    const at::Tensor rows = uniqueIndices.reshape({-1}).to(at::kLong);
    newIndices.index_copy_(0, rows, indices);
    newValues.zero_().index_add_(0, rows, values);
}
