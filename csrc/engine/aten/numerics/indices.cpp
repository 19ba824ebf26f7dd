#include "engine/aten/numerics/indices.h"

#include <ATen/ops/isfinite.h>
#include <ATen/ops/logical_not.h>
#include <c10/util/StringUtil.h>

#include <algorithm>
#include <vector>

#include "acl/acl.h"
#include "engine/runtime/error/error.h"

namespace torch_aclnn::host::aten {

static std::vector<int64_t> position(int64_t element, at::IntArrayRef sizes) {
    std::vector<int64_t> places(sizes.size());
    for (size_t d = sizes.size(); d-- > 0; element /= sizes[d]) places[d] = element % sizes[d];
    return places;
}

static void refuse_if(const at::Tensor& bad, const char* name, const char* expected, const at::Tensor& values) {
    if (!bad.any().item<bool>()) return;
    const int64_t first = bad.flatten().to(at::kByte).argmax().item<int64_t>();
    refuse(ACL_ERROR_RT_AICORE_EXCEPTION, name, expected,
           c10::str(values.flatten()[first].item(), " at position ", at::IntArrayRef(position(first, values.sizes()))));
}

void require_finite(const char* name, const at::Tensor& values) {
    refuse_if(at::isfinite(values).logical_not(), name, "values that are finite", values);
}

void require_nonzero(const char* name, const at::Tensor& values) {
    refuse_if(values.eq(0), name, "values other than 0", values);
}

void require_range(const char* name, const at::Tensor& values, int64_t lowest, int64_t bound) {
    const at::Tensor plain = values.to(at::kLong).contiguous();
    const int64_t* const first = plain.const_data_ptr<int64_t>();
    const int64_t* const end = first + plain.numel();
    const int64_t* const bad = std::find_if(first, end, [&](int64_t value) { return value < lowest || value >= bound; });
    if (bad != end)
        refuse(ACL_ERROR_RT_AICORE_EXCEPTION, name, c10::str("values in [", lowest, ", ", bound, ")"),
               c10::str(*bad, " at position ", at::IntArrayRef(position(bad - first, plain.sizes()))));
}

}  // namespace torch_aclnn::host::aten
