#include "engine/opapi/workspaces.h"

#include "engine/opapi/facts.h"
#include "engine/runtime/config/config.h"

namespace torch_aclnn::host {

// Ascend C's matrix products need the workspace of the system, which kernels must ask for on A2: CANN 8.0.RC2's page "workspace"
// (atlas_ascendc_10_0087). The pages name no size; that of the optimizer is taken: wherever it has the peak, 16.00 MiB lie between what is
// allocated after a step and at most in published figures of MindSpeed-LLM 26.1.0, as
// tests/st/baseline_results/qwen3_8b_tp2_pp2_vpp2_noop_layer.json and tests/pipeline/st/baseline/seed_oss_36b_tp2pp2.json.
constexpr uint64_t kOfTheSystem = uint64_t{16} << 20;

uint64_t workspace_of_npus(std::string_view entry_point) {
    const bool has_kernels = config().product == Product::a2 || config().product == Product::a3;
    return has_kernels && facts_of(entry_point).has_system_workspace ? kOfTheSystem : 0;
}

}  // namespace torch_aclnn::host
