#include "engine/opapi/facts.h"

#include <algorithm>
#include <unordered_map>

#include "engine/runtime/config/config.h"

namespace torch_aclnn::host {

using namespace std::string_view_literals;

template <size_t count>
static bool is_one_of(const std::array<std::string_view, count>& names, std::string_view name) {
    return std::find(names.begin(), names.end(), name) != names.end();
}

constexpr std::array kOutputs = {"Out"sv,        "OptOut"sv,       "Packed"sv,     "PackableOut"sv,
                                 "FewBitsOut"sv, "AnyFormatOut"sv, "TensorsOut"sv, "OptTensorsOut"sv};
// Some calls write these parameters and others only read them, such as running statistics. They do not count as written, because the check
// of streams would report calls that only read them.
constexpr std::array kMayBeUpdated = {"runningMean"sv, "runningVar"sv, "noise"sv};

// Ascend C's matrix products need the workspace of the system, which kernels must ask for on A2: CANN 8.0.RC2's page "workspace"
// (atlas_ascendc_10_0087). The pages name no size; that of the optimizer is taken: wherever it has the peak, 16.00 MiB lie between what is
// allocated after a step and at most in published figures of MindSpeed-LLM 26.1.0, as
// tests/st/baseline_results/qwen3_8b_tp2_pp2_vpp2_noop_layer.json and tests/pipeline/st/baseline/seed_oss_36b_tp2pp2.json.
constexpr uint64_t kOfTheSystem = uint64_t{16} << 20;

const Facts& facts_of(std::string_view entry_point) {
    static const auto* const known = new std::unordered_map<std::string_view, Facts>{
#include "vocabulary/facts.inc"
    };
    static const Facts usual;
    const auto found = known->find(entry_point);
    return found == known->end() ? usual : found->second;
}

ParameterUse use_of(const EntryPoint& entry_point, const char* parameter, bool is_written) {
    const std::string_view kind = entry_point.parameter_kind(parameter), name = parameter;
    if (config().dry_run && is_one_of(kMayBeUpdated, name)) return {true, true};
    return {is_written, is_written && !is_one_of(kOutputs, kind) && !facts_of(entry_point.name()).fills};
}

uint64_t workspace_of_npus(std::string_view entry_point) {
    const bool has_kernels = config().product == Product::a2 || config().product == Product::a3;
    return has_kernels && facts_of(entry_point).has_system_workspace ? kOfTheSystem : 0;
}

}  // namespace torch_aclnn::host
