// Reading and writing at positions that a tensor gives.

#include "engine/aten/adapter/adapter.h"

namespace torch_aclnn::host::aten {

using IndexList = c10::List<OptTensor>;

// Whether each tensor is an index. The caller says ":" with an empty tensor of self's dtype, which for an integer self looks like an index
// that selects nothing. But indices have one common shape: next to an index that selects something, an empty tensor can only mean ":"; and
// an operation whose tensors are all empty has no ":" on its own, it selects nothing.
static std::vector<bool> are_indices(at::TensorList indices) {
    const bool selects = std::any_of(indices.begin(), indices.end(), [](const at::Tensor& index) { return index.numel() > 0; });
    std::vector<bool> are;
    for (const at::Tensor& index : indices)
        are.push_back(index.numel() > 0 || index.dim() > 1 || (!selects && at::isIntegralType(index.scalar_type(), false)));
    return are;
}
static IndexList index_list(at::TensorList indices) {
    IndexList list;
    const std::vector<bool> are = are_indices(indices);
    for (size_t i = 0; i < indices.size(); i++)
        list.push_back(are[i] ? std::optional(indices[i].to(indices[i].scalar_type() == at::kBool ? at::kBool : at::kLong)) : std::nullopt);
    return list;
}

// The common shape of the indices replaces the dimensions that they select from, and comes first if those are not neighbours.
static Expected indexed(const at::Tensor& self, at::TensorList indices) {
    const std::vector<bool> are = are_indices(indices);
    Expected common{at::IntArrayRef()}, expected({}, self.scalar_type());
    std::optional<size_t> place;
    bool apart = false;
    for (size_t d = 0; d < static_cast<size_t>(self.dim()); d++) {
        if (d >= indices.size() || !are[d]) {
            expected.sizes.push_back(self.size(static_cast<int64_t>(d)));
            continue;
        }
        NamedShape so_far("indices", indices[d]);
        so_far.sizes = common.sizes;
        common = broadcast({so_far, {"indices", indices[d]}});
        apart = apart || (place && !are[d - 1]);
        if (!place) place = expected.sizes.size();
    }
    const size_t first = apart ? 0 : place.value_or(0);
    expected.sizes.insert(expected.sizes.begin() + static_cast<int64_t>(first), common.sizes.begin(), common.sizes.end());
    return expected;
}
// How much a mask selects depends on its values, which the body finds. Where nothing is selected, what is empty does not say which of the
// tensors are indices, and nothing is written.
static IfWanted<> indexed_unless_masked(const at::Tensor& self, at::TensorList indices, const at::Tensor& out) {
    if (indices.size() > static_cast<size_t>(self.dim()))
        refuse("indices", c10::str("at most ", self.dim(), " tensors, as self has dimensions"), std::to_string(indices.size()));
    const auto is_empty = [](const at::Tensor& tensor) { return tensor.numel() == 0; };
    const auto is_mask = [](const at::Tensor& tensor) { return tensor.scalar_type() == at::kBool; };
    const bool nothing = out.numel() == 0 && (self.numel() == 0 || std::any_of(indices.begin(), indices.end(), is_empty));
    if (nothing || std::any_of(indices.begin(), indices.end(), is_mask)) return if_wanted(false, shaped_like(out));
    return if_wanted(true, indexed(self, indices));
}

// The shape of the values at positions. A position has a number for each dimension of the target that it selects from; the value there has
// the other dimensions.
static Expected at_positions(const NamedShape& target, const at::Tensor& indices, int64_t least_rank) {
    if (indices.dim() < least_rank || indices.size(-1) < 1 || indices.size(-1) > static_cast<int64_t>(target.sizes.size()))
        refuse("indices",
               c10::str("at least ", least_rank, " dimensions, of which the last one has 1 to ", target.sizes.size(), " numbers"),
               shape_text(indices.sizes()));
    Expected expected(indices.sizes().slice(0, indices.dim() - 1));
    const at::IntArrayRef others = target.sizes.slice(indices.size(-1));
    expected.sizes.append(others.begin(), others.end());
    return expected;
}
static IndexList positions_in(const at::Tensor& target, const at::Tensor& indices, bool from_end) {
    IndexList list;
    for (int64_t d = 0; d < indices.size(-1); d++) {
        const at::Tensor places = indices.select(-1, d).to(at::kLong);
        require_range("indices", places, from_end ? -target.size(d) : 0, target.size(d));
        list.push_back(places);
    }
    return list;
}
static void put_at_positions(at::Tensor& target, const at::Tensor& indices, const at::Tensor& updates) {
    target.index_put_(positions_in(target, indices, false), updates);
}
// What is put broadcasts to what is selected, as far as that is known; ones in front do not count.
static BroadcastsTo put(const at::Tensor& self, at::TensorList indices, const at::Tensor& values) {
    const IfWanted<> place = indexed_unless_masked(self, indices, values);
    BroadcastsTo expected = broadcasts_to(place.wanted ? place.expected : shaped_like(values));
    while (static_cast<int64_t>(expected.sizes.size()) < values.dim()) expected.sizes.insert(expected.sizes.begin(), 1);
    return expected;
}

// Refuses indices into a tensor without elements, where no index names one.
static void require_elements(const char* name, const at::Tensor& self, int64_t count, const at::Tensor& index) {
    if (count == 0 && index.numel() > 0) refuse(name, "elements to choose from", shape_text(self.sizes()));
}

// The dimension is replaced by those of the index.
static Expected gathered(const at::Tensor& self, int64_t dim, const at::Tensor& index) {
    if (self.dim() == 0) refuse("self", "a dimension to gather from", "none");
    Expected expected = like(self);
    const auto place = expected.sizes.erase(expected.sizes.begin() + from_front(dim, self.dim()));
    expected.sizes.insert(place, index.sizes().begin(), index.sizes().end());
    return expected;
}
static at::Tensor flat(const at::Tensor& index) {
    return index.dim() == 1 ? index : index.reshape({-1});
}
static Expected embedded(const at::Tensor& weight, const at::Tensor& indices) {
    if (weight.dim() != 2) refuse("weight", "2 dimensions", shape_text(weight.sizes()));
    return gathered(weight, 0, indices);
}
static Expected gradient_of_embedded(const at::Tensor& grad, const at::Tensor& indices) {
    if (grad.dim() == 0) refuse("grad", "the indices' dimensions and one more", "none");
    Expected expected = shaped_like(indices);
    expected.sizes.push_back(grad.size(-1));
    return expected;
}
// The shapes that `index` may have: a vector, or no dimension for a single position.
static Either positions(const at::Tensor& index) {
    return either(shape({index.numel()}), one_value());
}
static Expected selected(const at::Tensor& self, int64_t dim, const at::Tensor& index) {
    return {with_size(self.sizes(), dim, index.numel()).sizes, self.scalar_type()};
}

// One value may be copied to one position.
static Either copied(const at::Tensor& self, int64_t dim, const at::Tensor& index) {
    const Expected slices = selected(self, dim, index);
    return either(slices, index.numel() == 1 ? one_value() : slices);
}

static int64_t bags(const at::Tensor& offsets, bool include_last) {
    if (include_last && offsets.numel() == 0) refuse("offsets", "the last offset", "none");
    return offsets.numel() - (include_last ? 1 : 0);
}
static Expected bagged(const at::Tensor& weight, const at::Tensor& offsets, bool include_last) {
    if (weight.dim() != 2) refuse("weight", "2 dimensions", shape_text(weight.sizes()));
    return {at::DimVector{bags(offsets, include_last), weight.size(1)}, weight.scalar_type()};
}

// The shape of the result: a row for each index, of which equal ones count once.
static Expected coalesced(const char* name, const at::Tensor& rows, const at::Tensor& unique) {
    if (rows.dim() == 0) refuse(name, "at least 1 dimension", "none");
    return {with_size(rows.sizes(), 0, unique.numel()).sizes, rows.scalar_type()};
}

// How scatter combines: 0 it replaces, 1 it adds, 2 it multiplies.
static std::optional<std::string_view> read_scatter_mode(const char* name, int64_t mode) {
    require_between(name, mode, 0, 2);
    return mode == 0 ? std::nullopt : std::optional<std::string_view>(mode == 1 ? "add" : "multiply");
}

static void scatter(at::Tensor& out, int64_t dim, const at::Tensor& index, const at::Tensor& source, std::optional<std::string_view> mode) {
    if (mode)
        out.scatter_(dim, index, source, *mode);
    else
        out.scatter_(dim, index, source);
}
static void scatter(at::Tensor& out, int64_t dim, const at::Tensor& index, const at::Scalar& value, std::optional<std::string_view> mode) {
    scatter(out, dim, index, at::full(index.sizes(), value, out.options()), mode);
}

static std::string_view read_reduce(const char* name, int64_t reduce) {
    constexpr std::array<std::string_view, 5> names{"sum", "prod", "amax", "amin", "mean"};
    require_between(name, reduce, 1, 5);
    return names[reduce - 1];
}

// Sums of many terms are taken in float32 for half types.
static bool is_half(const at::Tensor& tensor) {
    return at::isReducedFloatingType(tensor.scalar_type());
}

// Most callers send a copy of self as the output already.
static void start_from(const at::Tensor& self, at::Tensor& out) {
    if (out.data_ptr() != self.data_ptr() || out.strides() != self.strides()) out.copy_(self);
}

namespace kind {
using ScatterMode = Kind<int64_t, std::optional<std::string_view>, std::optional<std::string_view>, read_scatter_mode>;
using Reduce = Kind<int64_t, std::string_view, std::string_view, read_reduce>;
}  // namespace kind

}  // namespace torch_aclnn::host::aten

#include "vocabulary/indexing/indexing_calls.h"

static void compute(const call::Index& a) {
    if (a.out.numel() > 0) write(a.out, a.indices.empty() ? a.self : at::index(a.self, index_list(a.indices)));  // ATen takes at least one
}
static void compute(const call::IndexPutImpl& a) {
    if (a.indices.empty()) {  // ATen takes at least one index
        a.accumulate ? a.selfRef.add_(a.values) : a.selfRef.copy_(a.values);
    } else if (a.accumulate && is_half(a.selfRef)) {
        a.selfRef.copy_(at::index_put(upcast(a.selfRef), index_list(a.indices), upcast(a.values), true));
    } else {
        a.selfRef.index_put_(index_list(a.indices), a.values, a.accumulate);
    }
}
// Hardware counts negative positions from the end.
static void compute(const call::Gather& a) {
    const int64_t size = size_of(a.self, a.dim);
    require_range("index", a.index, -size, size);
    const at::Tensor places = a.index.to(at::kLong);
    write(a.out, at::gather(a.self, a.dim, at::where(places < 0, places + size, places)));
}
static void compute(const call::InplacePut& a) {
    // at::put_ refuses to run under torch.use_deterministic_algorithms.
    at::Tensor flat = a.selfRef.reshape({-1});
    flat.index_put_(IndexList({std::optional(a.index.to(at::kLong).reshape({-1}))}), a.source.reshape({-1}), a.accumulate);
    if (!flat.is_alias_of(a.selfRef)) a.selfRef.copy_(flat.view(a.selfRef.sizes()));
}

// aclnnIndexFillTensor and its in-place form have the positions in an array on the host.
static void require_positions(at::IntArrayRef index, int64_t dim, const at::Tensor& self) {
    const int64_t size = size_of(self, dim);
    for (const int64_t position : index)
        if (position < -size || position >= size) refuse("index", c10::str("positions in ", -size, "..", size - 1), c10::str(position));
}
static void fill_positions(at::Tensor& filled, int64_t dim, at::IntArrayRef index, const at::Scalar& value) {
    filled.index_fill_(dim, at::tensor(index, at::kLong), value);
}

static void compute(const call::EmbeddingDenseBackward& a) {
    const at::Tensor positions = a.indices.to(at::kLong);
    require_indices("indices", positions, a.numWeights);
    write(a.out, at::embedding_dense_backward(upcast(a.grad), positions, a.numWeights, a.paddingIdx, a.scaleGradByFreq));
}

// Scales the rows that are named and longer than maxNorm down to it.
static void compute(const call::EmbeddingRenorm& a) {
    at::Tensor rows = upcast(a.selfRef);
    at::embedding_renorm_(rows, a.indices, a.maxNorm, a.normType);
    a.selfRef.copy_(rows);
}

// offset2bag has no elements where the backward can do without, bagSize has one for the last offset on some products, and maxIndices is of
// any shape, and zero, unless the mode is the maximum.
static void compute(const call::EmbeddingBag& a) {
    // ATen's kernel takes no strides.
    const at::Tensor ids = a.indices.to(at::kLong).contiguous(), starts = a.offsets.to(at::kLong).contiguous();
    require_indices("indices", ids, a.weight.size(0));
    require_indices("offsets", starts, ids.numel() + 1);
    if (starts.numel() > 1 && starts.diff().lt(0).any().item<bool>())
        refuse(ACL_ERROR_RT_AICORE_EXCEPTION, "offsets", "values that do not fall", "others");
    const auto [bags, unused_bag, unused_size, positions] = at::_embedding_bag(
        dense(a.weight), ids, starts, a.scaleGradByFreq, a.mode, a.sparse, dense(a.perSampleWeights), a.includeLastOffset, a.paddingIdx);
    const at::Tensor bag = at::searchsorted(starts.narrow(0, 0, a.bagSize.numel()), at::arange(ids.numel()), false, true) - 1;
    write(a.output, bags);
    if (a.offset2bag.numel() > 0) write(a.offset2bag, bag);
    write(a.bagSize, at::bincount(bag.masked_select(ids != a.paddingIdx), {}, a.bagSize.numel()));
    if (a.mode == 2)
        write(a.maxIndices, positions);
    else
        a.maxIndices.zero_();
}

// Sums the values of equal indices: uniqueIndices says which row of the result each goes to.
static void compute(const call::CoalesceSparse& a) {
    const at::Tensor rows = a.uniqueIndices.reshape({-1}).to(at::kLong);
    a.newIndices.index_copy_(0, rows, a.indices);
    a.newValues.zero_().index_add_(0, rows, a.values);
}
