// What one rank is about to do, as the ranks compare it and as messages name it.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "engine/runtime/visibility.h"
#include "hccl/hccl_types.h"

namespace torch_aclnn::host {

class Group;

// The kinds, whose numbers travel between ranks, and the names of their C functions.
#define TORCH_ACLNN_OPERATION_KINDS(KIND)                                        \
    KIND(all_reduce, "HcclAllReduce")                                            \
    KIND(reduce, "HcclReduce")                                                   \
    KIND(broadcast, "HcclBroadcast")                                             \
    KIND(all_gather, "HcclAllGather")                                            \
    KIND(all_gather_v, "HcclAllGatherV")                                         \
    KIND(reduce_scatter, "HcclReduceScatter")                                    \
    KIND(reduce_scatter_v, "HcclReduceScatterV")                                 \
    KIND(scatter, "HcclScatter")                                                 \
    KIND(all_to_all, "HcclAlltoAll")                                             \
    KIND(all_to_all_v, "HcclAlltoAllV")                                          \
    KIND(barrier, "HcclBarrier")                                                 \
    KIND(matmul_all_reduce, "aclnnMatmulAllReduce")                              \
    KIND(matmul_reduce_scatter, "aclnnMatmulReduceScatter")                      \
    KIND(all_gather_matmul, "aclnnAllGatherMatmul")                              \
    KIND(all_to_all_matmul, "aclnnAlltoAllMatmul")                               \
    KIND(matmul_all_to_all, "aclnnMatmulAlltoAll")                               \
    KIND(all_to_all_v_grouped_matmul, "aclnnAlltoAllvGroupedMatMul")             \
    KIND(grouped_matmul_all_to_all_v, "aclnnGroupedMatMulAlltoAllv")             \
    KIND(moe_distribute_dispatch, "aclnnMoeDistributeDispatch")                  \
    KIND(moe_distribute_combine, "aclnnMoeDistributeCombine")                    \
    KIND(moe_distribute_dispatch_setup, "aclnnMoeDistributeDispatchSetup")       \
    KIND(moe_distribute_dispatch_teardown, "aclnnMoeDistributeDispatchTeardown") \
    KIND(moe_distribute_combine_setup, "aclnnMoeDistributeCombineSetup")         \
    KIND(moe_distribute_combine_teardown, "aclnnMoeDistributeCombineTeardown")   \
    KIND(distribute_barrier, "aclnnDistributeBarrier")                           \
    KIND(send, "HcclSend")                                                       \
    KIND(receive, "HcclRecv")                                                    \
    KIND(batch_send_receive, "HcclBatchSendRecv")                                \
    KIND(attention_to_ffn, "aclnnAttentionToFFN")                                \
    KIND(ffn_to_attention, "aclnnFFNToAttention")

#define TORCH_ACLNN_ENUMERATOR(kind, name) kind,
enum class OperationKind : uint32_t { TORCH_ACLNN_OPERATION_KINDS(TORCH_ACLNN_ENUMERATOR) };
#undef TORCH_ACLNN_ENUMERATOR

TORCH_ACLNN_HOST_API const char* name_of(OperationKind kind) noexcept;

// What ranks exchange of an operation.
struct OperationRecord {
    OperationKind kind;
    HcclDataType type;
    uint64_t count;  // elements of one rank; 0 if each rank has its own number
    int32_t root;    // the root or the peer; -1 without either
    int32_t op;      // HcclReduceOp; -1 without
};

inline bool is_collective(OperationKind kind) {
    return kind < OperationKind::send;
}

TORCH_ACLNN_HOST_API std::string description(const OperationRecord& record);
// Returns text such as "rank 0: HcclAllReduce of 4 float32, sum; ranks 1, 2: HcclBroadcast of 4 float32, root 0".
TORCH_ACLNN_HOST_API std::string description(const std::map<int, OperationRecord>& by_rank);

// Memory that an operation reads or writes.
struct Buffer {
    const char* parameter;
    const void* address;
    size_t bytes;
    bool only_read = false;
    bool is_filled = false;  // whatever the peers do; else memory that is received into may stay as it was
};

// Returns the bytes of so many elements for each of so many ranks; HCCL_E_PARA, naming the parameter, if they are no size of memory.
size_t bytes_of_elements(const char* parameter, uint64_t count, HcclDataType type, int ranks = 1);

// HCCL_E_PTR for a null, HCCL_E_PARA for memory that is not of one device from one end to the other.
void require_device_memory(const std::vector<Buffer>& buffers);

struct Operation {
    OperationRecord record;
    // The numbers of elements that this rank gives to each other rank and takes from each, where every rank has counts of its own.
    std::vector<uint64_t> gives, takes;
    std::vector<Buffer> buffers;
    std::function<void()> skip = [] {};  // what a dry run does in the place of the body
    const char* entry_point = nullptr;   // the operator that also computes, whose versions share a kind; else null

    const char* name() const { return entry_point != nullptr ? entry_point : name_of(record.kind); }
    bool is_collective() const { return host::is_collective(record.kind); }
};

// Exchanges what the ranks are about to do. HCCL_E_PARA, on all of them, if that does not fit together; the message says what each does.
void require_agreement(Group& group, int size, const Operation& operation);

}  // namespace torch_aclnn::host
