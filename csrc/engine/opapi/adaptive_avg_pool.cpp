#include "engine/opapi/adaptive_avg_pool.h"

#include "engine/opapi/products.h"

namespace torch_aclnn::host {

void check_adaptive_avg_pool(const char* entry_point, const AdaptiveAvgPoolArguments& a, DTypes dtypes, uint64_t plane_dims) {
    require_handles({a.grad_output, a.self, a.out});
    require_product(entry_point);
    for (const Named& t : {a.grad_output, a.self, a.out}) {
        require_dtype(t, dtypes);
        require_rank(t, plane_dims + 1, plane_dims + 2);
    }
    for (const Named& t : {a.grad_output, a.out}) {
        require_same_dtype(t, a.self);
        require_same_format(t, a.self);
        require_same_rank(t, a.self);
        for (uint64_t d = 0; d < a.self.tensor->rank() - plane_dims; ++d) require_dim(t, d, a.self.tensor->sizes[d]);
    }
    require_same_shape(a.out, a.self);
    require_sound({a.grad_output, a.self, a.out});
    if (a.grad_output.tensor->numel() == 0 && a.out.tensor->numel() > 0)
        refuse(a.grad_output.name, "at least one element for each plane of self", to_string(a.grad_output.tensor->sizes));
    require_not_empty_if_strict({a.grad_output, a.self});
    require_no_overlap(a.out, {a.grad_output});
}

std::unique_ptr<aclOpExecutor> adaptive_avg_pool_executor(const char* entry_point, const AdaptiveAvgPoolArguments& a,
                                                          void (*compute)(const aclOpExecutor&)) {
    return std::make_unique<aclOpExecutor>(entry_point, std::initializer_list<Named>{a.grad_output, a.self},
                                           std::initializer_list<Named>{a.out}, compute);
}

}  // namespace torch_aclnn::host
