// What one rank is about to do, as the ranks compare it and as messages name it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "engine/hccl/buffers.h"
#include "engine/runtime/visibility.h"
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
    matmul_all_reduce,
    matmul_reduce_scatter,
    all_gather_matmul,
    all_to_all_matmul,
    matmul_all_to_all,
    all_to_all_v_grouped_matmul,
    grouped_matmul_all_to_all_v,
    moe_distribute_dispatch,
    moe_distribute_combine,
    moe_distribute_dispatch_setup,
    moe_distribute_dispatch_teardown,
    moe_distribute_combine_setup,
    moe_distribute_combine_teardown,
    distribute_barrier,
    send,
    receive,
    batch_send_receive,
    attention_to_ffn,
    ffn_to_attention,
};

// The C function's.
TORCH_ACLNN_HOST_API const char* name_of(OperationKind kind) noexcept;

// What ranks exchange of an operation.
struct OperationRecord {
    OperationKind kind;
    HcclDataType type;
    uint64_t count;  // of one rank; 0 where each rank has its own
    int32_t root;    // or the peer; -1 without
    int32_t op;      // HcclReduceOp; -1 without
};

inline bool is_collective(OperationKind kind) {
    return kind < OperationKind::send;
}

TORCH_ACLNN_HOST_API std::string description(const OperationRecord& record);
// "rank 0: HcclAllReduce of 4 float32, sum; ranks 1, 2: HcclBroadcast of 4 float32, root 0"
TORCH_ACLNN_HOST_API std::string description(const std::map<int, OperationRecord>& by_rank);

struct Operation {
    OperationRecord record;
    // How many elements this rank gives to each other rank and takes from each, where every rank has counts of its own.
    std::vector<uint64_t> gives, takes;
    std::vector<Buffer> buffers;
    std::function<void()> skip = [] {};  // what a dry run does in the place of the body
    const char* entry_point = nullptr;   // of an operator that also computes, whose versions share a kind; else null

    const char* name() const { return entry_point != nullptr ? entry_point : name_of(record.kind); }
    bool is_collective() const { return host::is_collective(record.kind); }
};

// Exchanges what the ranks are about to do. HCCL_E_PARA, on all of them, if that does not fit together; the message says what each does.
void require_agreement(Group& group, int size, const Operation& operation);

}  // namespace torch_aclnn::host
