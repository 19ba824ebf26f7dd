#include "engine/opapi/workspaces.h"

#include <algorithm>
#include <iterator>

#include "engine/runtime/config/config.h"

namespace torch_aclnn::host {
namespace {

struct Rule {
    std::string_view part;  // of the entry point's name
    uint64_t bytes;
};

constexpr uint64_t kOfTheSystem = uint64_t{16} << 20;

// Of Ascend C's kernels on A2 and A3.
constexpr Rule kRules[] = {
    // Wherever the optimizer has the peak, 16.00 MiB lie between what is allocated after a step and at most in published figures of
    // MindSpeed-LLM 26.1.0, as tests/st/baseline_results/qwen3_8b_tp2_pp2_vpp2_noop_layer.json and
    // tests/pipeline/st/baseline/seed_oss_36b_tp2pp2.json.
    {"ApplyAdamWV2", kOfTheSystem},
    // Ascend C's matrix products need the workspace of the system, which kernels must ask for on A2: CANN 8.0.RC2's page "workspace"
    // (atlas_ascendc_10_0087). The pages name no size; that of the optimizer is taken.
    {"Matmul", kOfTheSystem},
    {"MatMul", kOfTheSystem},
    {"aclnnMm", kOfTheSystem},
    {"Addmm", kOfTheSystem},
    {"ddbmm", kOfTheSystem},
    {"Gemm", kOfTheSystem},
    {"aclnnFFN", kOfTheSystem},
    {"FlashAttention", kOfTheSystem},
    {"InferAttention", kOfTheSystem},
};

}  // namespace

uint64_t workspace_of_npus(std::string_view entry_point) {
    const Product product = config().product;
    if (product != Product::a2 && product != Product::a3) return 0;
    const auto rule = std::find_if(std::begin(kRules), std::end(kRules),
                                   [&](const Rule& each) { return entry_point.find(each.part) != std::string_view::npos; });
    return rule == std::end(kRules) ? 0 : rule->bytes;
}

}  // namespace torch_aclnn::host
