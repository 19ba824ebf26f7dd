// What one rank is about to do, as the ranks compare it and as messages name it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hccl/hccl_types.h"

namespace torch_aclnn::host {

class Group;

// The numbers travel between ranks.
enum class OperationKind : uint32_t {
    all_reduce,
    reduce,
    broadcast,
    all_gather,
    all_gather_v,
    reduce_scatter,
    reduce_scatter_v,
    scatter,
    all_to_all,
    all_to_all_v,
    barrier,
    send,
    receive,
    batch_send_receive,
};

// The C function's.
const char* name_of(OperationKind kind) noexcept;

// As it travels.
struct OperationRecord {
    OperationKind kind;
    HcclDataType type;
    uint64_t count;  // of one rank; 0 where each rank has its own
    int32_t root;    // or the peer; -1 without
    int32_t op;      // HcclReduceOp; -1 without
};

std::string description(const OperationRecord& record);

struct Operation {
    OperationRecord record;
    // Of those where each rank has its own counts: what this one gives to each other, and takes from each.
    std::vector<uint64_t> gives, takes;

    bool is_collective() const { return record.kind < OperationKind::send; }
};

// Exchanges what the ranks are about to do. HCCL_E_PARA, on all of them, if that does not fit together; the message says what each does.
void require_agreement(Group& group, int size, const Operation& operation);

}  // namespace torch_aclnn::host
