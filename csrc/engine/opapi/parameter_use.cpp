#include "engine/opapi/parameter_use.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "engine/opapi/facts.h"
#include "engine/runtime/config/config.h"

namespace torch_aclnn::host {
namespace {

using namespace std::string_view_literals;

template <size_t count>
bool is_one_of(const std::array<std::string_view, count>& names, std::string_view name) {
    return std::find(names.begin(), names.end(), name) != names.end();
}

constexpr std::array kOutputs = {"Out"sv,        "OptOut"sv,       "Packed"sv,     "PackableOut"sv,
                                 "FewBitsOut"sv, "AnyFormatOut"sv, "TensorsOut"sv, "OptTensorsOut"sv};
// Parameters that some calls write and others only read, such as running statistics. Taken as written, the check of streams would report
// calls that only read them.
constexpr std::array kMayBeUpdated = {"runningMean"sv, "runningVar"sv, "noise"sv};

}  // namespace

ParameterUse use_of(const EntryPoint& entry_point, const char* parameter, bool is_written) {
    const std::string_view kind = entry_point.parameter_kind(parameter), name = parameter;
    if (config().dry_run && is_one_of(kMayBeUpdated, name)) return {true, true};
    return {is_written, is_written && !is_one_of(kOutputs, kind) && !facts_of(entry_point.name()).fills};
}

}  // namespace torch_aclnn::host
