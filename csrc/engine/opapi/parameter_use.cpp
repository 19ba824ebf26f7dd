#include "engine/opapi/parameter_use.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "engine/runtime/config/config.h"

namespace torch_aclnn::host {
namespace {

using namespace std::string_view_literals;

template <size_t count>
bool is_one_of(const std::array<std::string_view, count>& names, std::string_view name) {
    return std::find(names.begin(), names.end(), name) != names.end();
}

constexpr std::array kOutputs = {"Out"sv, "OptOut"sv, "Packed"sv, "PackableOut"sv, "AnyFormatOut"sv};
// The documents say it of these, whose handles are those of inputs.
constexpr std::array kWrittenLists = {"out"sv, "dst"sv, "dparams"sv, "y"sv};
constexpr std::array kUpdated = {"scaledGrads"sv, "params"sv, "momentumBufferList"sv};
// Some calls write them and others only read: a training's statistics and noise. The check of streams would report those too.
constexpr std::array kMayBeUpdated = {"grads"sv, "runningMean"sv, "runningVar"sv, "noise"sv};

// Works in place on memory of which it reads nothing.
bool fills(std::string_view entry_point) {
    constexpr std::array kFills = {"aclnnInplaceCopy"sv,           "aclnnInplaceZero"sv,          "aclnnInplaceOne"sv,
                                   "aclnnInplaceFillScalar"sv,     "aclnnInplaceFillTensor"sv,    "aclnnInplaceNormal"sv,
                                   "aclnnInplaceUniform"sv,        "aclnnInplaceRandom"sv,        "aclnnInplaceBernoulli"sv,
                                   "aclnnInplaceNormalTensor"sv,   "aclnnInplaceUniformTensor"sv, "aclnnInplaceRandomTensor"sv,
                                   "aclnnInplaceBernoulliTensor"sv};
    return is_one_of(kFills, entry_point);
}

bool is_written_list(std::string_view kind, std::string_view name) {
    const bool is_list = kind == "Tensors" || kind == "OptTensors";
    return is_list && (is_one_of(kWrittenLists, name) || (name.size() > 3 && name.substr(name.size() - 3) == "Out"));
}

}  // namespace

ParameterUse use_of(const EntryPoint& entry_point, const char* parameter, bool is_written) {
    const std::string_view kind = entry_point.parameter_kind(parameter), name = parameter;
    if (is_written_list(kind, name) || entry_point.name() == "aclnnForeachZeroInplace"sv) return {true, false};
    if (is_one_of(kUpdated, name) || (config().dry_run && is_one_of(kMayBeUpdated, name))) return {true, true};
    return {is_written, is_written && !is_one_of(kOutputs, kind) && !fills(entry_point.name())};
}

}  // namespace torch_aclnn::host
