// Collectives. There are none yet: what torch_npu looks up and does not find it refuses by name.

#include <cstdint>

#include "engine/runtime/visibility.h"

namespace {

constexpr int kDeterministic = 0;
constexpr int kNotSupported = 5;  // documented: HCCL_E_NOT_SUPPORT

union ConfigValue {
    int32_t number;
};

}  // namespace

// torch_npu sets this while it starts. Any collective of the engine is deterministic.
extern "C" TORCH_ACLNN_HOST_API int HcclSetConfig(int config, ConfigValue) {
    return config == kDeterministic ? 0 : kNotSupported;
}
