#include "engine/hccl/equal_values.h"

#include <cstring>
#include <type_traits>

#include "engine/hccl/data_types.h"
#include "engine/runtime/error/error.h"
#include "engine/runtime/memory/host_view.h"
#include "kernels/support/half.h"

namespace torch_aclnn::host {
namespace {

// Half types convert to and from float alone, which holds their sums over any number of ranks.
template <class T>
using Computed = std::conditional_t<std::is_integral_v<T>, uint64_t, std::conditional_t<std::is_floating_point_v<T>, double, float>>;

template <class T>
T power(T base, int exponent) {
    T result = 1;
    for (; exponent != 0; exponent >>= 1, base *= base)
        if ((exponent & 1) != 0) result *= base;
    return result;
}

template <class T>
void reduce(const void* values, void* result, uint64_t count, HcclReduceOp op, int ranks) {
    using C = Computed<T>;
    const auto* const from = static_cast<const T*>(values);
    auto* const to = static_cast<T*>(result);
    for (uint64_t i = 0; i < count; ++i) {
        const C value = static_cast<C>(from[i]);
        to[i] = static_cast<T>(op == HCCL_REDUCE_SUM ? value * static_cast<C>(ranks) : power(value, ranks));
    }
}

using Reduce = void (*)(const void* values, void* result, uint64_t count, HcclReduceOp op, int ranks);

// The signed types wrap around as the unsigned ones do.
Reduce reduction_of(HcclDataType type) {
    switch (type) {
        case HCCL_DATA_TYPE_INT8:
        case HCCL_DATA_TYPE_UINT8: return reduce<uint8_t>;
        case HCCL_DATA_TYPE_INT16:
        case HCCL_DATA_TYPE_UINT16: return reduce<uint16_t>;
        case HCCL_DATA_TYPE_INT32:
        case HCCL_DATA_TYPE_UINT32: return reduce<uint32_t>;
        case HCCL_DATA_TYPE_INT64:
        case HCCL_DATA_TYPE_UINT64: return reduce<uint64_t>;
        case HCCL_DATA_TYPE_FP16: return reduce<kernels::Half>;
        case HCCL_DATA_TYPE_BFP16: return reduce<kernels::BFloat16>;
        case HCCL_DATA_TYPE_FP32: return reduce<float>;
        case HCCL_DATA_TYPE_FP64: return reduce<double>;
        default: throw Error(HCCL_E_NOT_SUPPORT, "a type that cannot be reduced");
    }
}

}  // namespace

void reduce_equal_values(const void* values, void* result, uint64_t count, HcclDataType type, HcclReduceOp op, int ranks) {
    const void* const from = host_view(values);
    void* const to = host_view(result);
    if (ranks == 1 || op == HCCL_REDUCE_MAX || op == HCCL_REDUCE_MIN) {
        std::memmove(to, from, count * bytes_of(type));
        return;
    }
    reduction_of(type)(from, to, count, op, ranks);
}

}  // namespace torch_aclnn::host
