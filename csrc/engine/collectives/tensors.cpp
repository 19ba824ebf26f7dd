#include "engine/collectives/tensors.h"

#include <limits>

#include "engine/runtime/error/error.h"
#include "engine/runtime/memory/host_view.h"

namespace torch_aclnn::host {

static at::ScalarType scalar_type_of(HcclDataType type) {
    switch (type) {
        case HCCL_DATA_TYPE_INT8: return at::kChar;
        case HCCL_DATA_TYPE_INT16: return at::kShort;
        case HCCL_DATA_TYPE_INT32: return at::kInt;
        case HCCL_DATA_TYPE_FP16: return at::kHalf;
        case HCCL_DATA_TYPE_FP32: return at::kFloat;
        case HCCL_DATA_TYPE_INT64: return at::kLong;
        case HCCL_DATA_TYPE_UINT64: return at::kUInt64;
        case HCCL_DATA_TYPE_UINT8: return at::kByte;
        case HCCL_DATA_TYPE_UINT16: return at::kUInt16;
        case HCCL_DATA_TYPE_UINT32: return at::kUInt32;
        case HCCL_DATA_TYPE_FP64: return at::kDouble;
        case HCCL_DATA_TYPE_BFP16: return at::kBFloat16;
        default: throw Error(HCCL_E_NOT_SUPPORT, "a type that cannot be reduced");
    }
}

static at::ScalarType computed_type_of(at::ScalarType type) {
    switch (type) {
        case at::kHalf:
        case at::kBFloat16: return at::kFloat;
        case at::kShort:
        case at::kUInt16: return at::kInt;
        case at::kUInt32:
        case at::kUInt64: return at::kLong;
        default: return type;
    }
}

// Sums and products of unsigned 64-bit integers have the bits of the signed ones. Their order is that of signed integers once the highest
// bit is flipped.
static bool is_order_of_uint64(const at::Tensor& elements, HcclReduceOp op) {
    return elements.scalar_type() == at::kUInt64 && (op == HCCL_REDUCE_MAX || op == HCCL_REDUCE_MIN);
}

static at::Tensor with_highest_bit_turned(const at::Tensor& tensor) {
    return tensor.bitwise_xor(std::numeric_limits<int64_t>::min());
}

at::Tensor bytes_at(const void* data, size_t bytes) {
    return at::from_blob(host_view(const_cast<void*>(data)), {static_cast<int64_t>(bytes)}, at::kByte);
}

at::Tensor elements_at(const void* data, uint64_t count, HcclDataType type) {
    return at::from_blob(host_view(const_cast<void*>(data)), {static_cast<int64_t>(count)}, scalar_type_of(type));
}

bool computes_in_place(const at::Tensor& elements) {
    return computed_type_of(elements.scalar_type()) == elements.scalar_type();
}

at::Tensor as_computed(const at::Tensor& elements, HcclReduceOp op) {
    const auto type = elements.scalar_type();
    if (type != at::kUInt64) return elements.to(computed_type_of(type));
    const auto bits = elements.view(at::kLong);
    return is_order_of_uint64(elements, op) ? with_highest_bit_turned(bits) : bits;
}

at::Tensor to_computed(const at::Tensor& elements, HcclReduceOp op) {
    const auto computed = as_computed(elements, op);
    return computed.is_alias_of(elements) ? computed.clone() : computed;
}

void from_computed(const at::Tensor& computed, const at::Tensor& elements, HcclReduceOp op) {
    if (elements.scalar_type() != at::kUInt64) {
        elements.copy_(computed);
        return;
    }
    elements.view(at::kLong).copy_(is_order_of_uint64(elements, op) ? with_highest_bit_turned(computed) : computed);
}

}  // namespace torch_aclnn::host
