#include "engine/hccl/operation.h"

#include "engine/hccl/data_types.h"
#include "engine/runtime/error/error.h"
#include "engine/runtime/memory/device_memory.h"
#include "engine/runtime/text.h"

namespace torch_aclnn::host {

const char* name_of(OperationKind kind) noexcept {
#define TORCH_ACLNN_NAME(kind, name) name,
    static constexpr const char* kNames[] = {TORCH_ACLNN_OPERATION_KINDS(TORCH_ACLNN_NAME)};
#undef TORCH_ACLNN_NAME
    const auto number = static_cast<size_t>(kind);
    return number < std::size(kNames) ? kNames[number] : "unknown";
}

std::string description(const OperationRecord& record) {
    std::string described = name_of(record.kind);
    if (record.kind == OperationKind::barrier || record.kind == OperationKind::batch_send_receive) return described;
    described += text(" of ", record.count, " ", name_of(record.type));
    if (record.op >= 0) described += text(", ", name_of(static_cast<HcclReduceOp>(record.op)));
    if (record.root < 0) return described;
    if (record.kind == OperationKind::send) return text(described, " to rank ", record.root);
    if (record.kind == OperationKind::receive) return text(described, " from rank ", record.root);
    return text(described, ", root ", record.root);
}

std::string description(const std::map<int, OperationRecord>& by_rank) {
    std::vector<std::string> order;
    std::map<std::string, std::vector<int>> ranks;
    for (const auto& [rank, record] : by_rank) {
        const std::string described = description(record);
        if (ranks[described].empty()) order.push_back(described);
        ranks[described].push_back(rank);
    }
    std::string all;
    for (const auto& described : order) {
        const auto& those = ranks[described];
        all += text(all.empty() ? "" : "; ", those.size() == 1 ? "rank " : "ranks ");
        for (size_t i = 0; i < those.size(); ++i) all += text(i == 0 ? "" : ", ", those[i]);
        all += ": " + described;
    }
    return all;
}

size_t bytes_of_elements(const char* parameter, uint64_t count, HcclDataType type, int ranks) {
    int64_t bytes = 0;
    if (__builtin_mul_overflow(count, bytes_of(type), &bytes) || __builtin_mul_overflow(bytes, ranks, &bytes))
        refuse(HCCL_E_PARA, parameter, "a number of elements that memory can hold", std::to_string(count));
    return static_cast<size_t>(bytes);
}

void require_device_memory(const std::vector<Buffer>& buffers) {
    const Buffer* first = nullptr;
    int device = -1;
    for (const auto& buffer : buffers) {
        if (buffer.bytes == 0) continue;
        if (buffer.address == nullptr) refuse(HCCL_E_PTR, buffer.parameter, "a value", "null");
        const auto memory = device_memory_at(buffer.address, buffer.bytes);
        if (!memory) refuse(HCCL_E_PARA, buffer.parameter, "device memory", describe_missing_memory(buffer.address));
        if (memory->reach < buffer.bytes)
            refuse(HCCL_E_PARA, buffer.parameter, text(buffer.bytes, " bytes of device memory"),
                   text("an address whose allocation goes on for ", memory->reach));
        if (memory->device < 0) continue;
        if (first != nullptr && memory->device != device)
            refuse(HCCL_E_PARA, buffer.parameter, text("memory of device ", device, " like ", first->parameter),
                   text("memory of device ", memory->device));
        first = &buffer;
        device = memory->device;
    }
}

}  // namespace torch_aclnn::host
