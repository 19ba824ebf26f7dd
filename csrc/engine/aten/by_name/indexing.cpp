// Selection by indices and masks, and sorting.
#include "engine/aten/by_name/call.h"

using namespace torch_aclnn::host;
using namespace torch_aclnn::host::aten;

namespace {

int64_t dimension(const Call& call, const char* name, const at::Tensor& x, int64_t otherwise) {
    const int64_t dim = call.attribute<int64_t>(name, otherwise);
    require_dim(name, dim, x.dim());
    return dim;
}

}  // namespace

OPERATOR(GatherElements) {
    const at::Tensor x = call.input(0);
    call.write(0, at::gather(x, dimension(call, "dim", x, 0), call.input(1).to(at::kLong)));
}
OPERATOR(GatherV2) {
    const at::Tensor x = call.input(0), index = call.input(1);
    const int64_t dim = call.scalar(2).toLong();
    require_dim("input 2", dim, x.dim());
    if (call.attribute<int64_t>("batch_dims", 0) != 0) refuse("attribute batch_dims", "0", c10::str(call.attribute<int64_t>("batch_dims")));
    std::vector<int64_t> sizes = x.sizes().vec();
    const auto place = sizes.erase(sizes.begin() + (dim < 0 ? dim + x.dim() : dim));
    sizes.insert(place, index.sizes().begin(), index.sizes().end());
    call.write(0, at::index_select(x, dim, index.reshape({-1}).to(at::kLong)).reshape(sizes));
}
OPERATOR(ScatterElements) {
    const at::Tensor x = call.input(0), index = call.input(1).to(at::kLong), updates = call.input(2);
    const int64_t axis = dimension(call, "axis", x, 0);
    const std::string& reduction = call.attribute<std::string>("reduction", "none");
    if (reduction == "none") return call.write(0, at::scatter(x, axis, index, updates));
    if (reduction != "add") refuse("attribute reduction", "none or add", reduction);
    call.write(0, at::scatter_add(upcast(x), axis, index, upcast(updates)));
}

// These have results whose size depends on the data.
OPERATOR(NonZero) {
    const at::Tensor places = at::nonzero(call.input(0));
    call.pack(0, call.attribute<bool>("transpose", false) ? places.t() : places);
}
OPERATOR(MaskedSelect) {
    call.pack(0, at::masked_select(call.input(0), as_mask(call.input(1))));
}

OPERATOR(Sort) {
    const at::Tensor x = call.input(0);
    const auto [values, places] = at::sort(x, true, dimension(call, "axis", x, -1), call.attribute<bool>("descending", false));
    call.write(0, values);
    call.write(1, places);
}
OPERATOR(TopKV2) {
    const at::Tensor x = call.input(0);
    const int64_t k = call.scalar(1).toLong(), dim = dimension(call, "dim", x, -1);
    if (k < 0 || k > x.size(dim)) refuse("input 1", c10::str("0 to ", x.size(dim)), std::to_string(k));
    const auto [values, places] = at::topk(x, k, dim, call.attribute<bool>("largest", true), call.attribute<bool>("sorted", true));
    call.write(0, values);
    call.write(1, places);
}
