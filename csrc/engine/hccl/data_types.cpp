#include "engine/hccl/data_types.h"

#include "engine/runtime/error/error.h"

namespace torch_aclnn::host {
namespace {

struct TypeInfo {
    HcclDataType type;
    const char* name;
    size_t bytes;
    bool reducible;
};

constexpr TypeInfo kTypes[] = {
    {HCCL_DATA_TYPE_INT8, "int8", 1, true},
    {HCCL_DATA_TYPE_INT16, "int16", 2, true},
    {HCCL_DATA_TYPE_INT32, "int32", 4, true},
    {HCCL_DATA_TYPE_FP16, "float16", 2, true},
    {HCCL_DATA_TYPE_FP32, "float32", 4, true},
    {HCCL_DATA_TYPE_INT64, "int64", 8, true},
    {HCCL_DATA_TYPE_UINT64, "uint64", 8, true},
    {HCCL_DATA_TYPE_UINT8, "uint8", 1, true},
    {HCCL_DATA_TYPE_UINT16, "uint16", 2, true},
    {HCCL_DATA_TYPE_UINT32, "uint32", 4, true},
    {HCCL_DATA_TYPE_FP64, "float64", 8, true},
    {HCCL_DATA_TYPE_BFP16, "bfloat16", 2, true},
    {HCCL_DATA_TYPE_INT128, "int128", 16, false},
    {HCCL_DATA_TYPE_HIF8, "hifloat8", 1, false},
    {HCCL_DATA_TYPE_FP8E4M3, "float8_e4m3fn", 1, false},
    {HCCL_DATA_TYPE_FP8E5M2, "float8_e5m2", 1, false},
    {HCCL_DATA_TYPE_FP8E8M0, "float8_e8m0", 1, false},
};
constexpr const char* kReductions[] = {"sum", "prod", "max", "min"};

const TypeInfo* find(HcclDataType type) noexcept {
    for (const auto& info : kTypes)
        if (info.type == type) return &info;
    return nullptr;
}

const TypeInfo& info_of(HcclDataType type) {
    const auto* const info = find(type);
    if (info == nullptr) refuse(HCCL_E_PARA, "dataType", "a value of HcclDataType", std::to_string(static_cast<int>(type)));
    return *info;
}

}  // namespace

size_t bytes_of(HcclDataType type) {
    return info_of(type).bytes;
}

const char* name_of(HcclDataType type) noexcept {
    const auto* const info = find(type);
    return info != nullptr ? info->name : "unknown";
}

void require_reduction(HcclDataType type, HcclReduceOp op) {
    if (op < HCCL_REDUCE_SUM || op > HCCL_REDUCE_MIN)
        refuse(HCCL_E_PARA, "op", "a value of HcclReduceOp", std::to_string(static_cast<int>(op)));
    if (!info_of(type).reducible) refuse(HCCL_E_NOT_SUPPORT, "dataType", "a type that can be reduced", name_of(type));
}

const char* name_of(HcclReduceOp op) noexcept {
    return op >= HCCL_REDUCE_SUM && op <= HCCL_REDUCE_MIN ? kReductions[op] : "unknown";
}

}  // namespace torch_aclnn::host
