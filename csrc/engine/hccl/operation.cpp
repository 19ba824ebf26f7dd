#include "engine/hccl/operation.h"

#include "engine/hccl/data_types.h"
#include "engine/runtime/text.h"

namespace torch_aclnn::host {

const char* name_of(OperationKind kind) noexcept {
    switch (kind) {
        case OperationKind::all_reduce: return "HcclAllReduce";
        case OperationKind::reduce: return "HcclReduce";
        case OperationKind::broadcast: return "HcclBroadcast";
        case OperationKind::all_gather: return "HcclAllGather";
        case OperationKind::all_gather_v: return "HcclAllGatherV";
        case OperationKind::reduce_scatter: return "HcclReduceScatter";
        case OperationKind::reduce_scatter_v: return "HcclReduceScatterV";
        case OperationKind::scatter: return "HcclScatter";
        case OperationKind::all_to_all: return "HcclAlltoAll";
        case OperationKind::all_to_all_v: return "HcclAlltoAllV";
        case OperationKind::barrier: return "HcclBarrier";
        case OperationKind::matmul_all_reduce: return "aclnnMatmulAllReduce";
        case OperationKind::matmul_reduce_scatter: return "aclnnMatmulReduceScatter";
        case OperationKind::all_gather_matmul: return "aclnnAllGatherMatmul";
        case OperationKind::all_to_all_matmul: return "aclnnAlltoAllMatmul";
        case OperationKind::matmul_all_to_all: return "aclnnMatmulAlltoAll";
        case OperationKind::all_to_all_v_grouped_matmul: return "aclnnAlltoAllvGroupedMatMul";
        case OperationKind::grouped_matmul_all_to_all_v: return "aclnnGroupedMatMulAlltoAllv";
        case OperationKind::moe_distribute_dispatch: return "aclnnMoeDistributeDispatch";
        case OperationKind::moe_distribute_combine: return "aclnnMoeDistributeCombine";
        case OperationKind::moe_distribute_dispatch_setup: return "aclnnMoeDistributeDispatchSetup";
        case OperationKind::moe_distribute_dispatch_teardown: return "aclnnMoeDistributeDispatchTeardown";
        case OperationKind::moe_distribute_combine_setup: return "aclnnMoeDistributeCombineSetup";
        case OperationKind::moe_distribute_combine_teardown: return "aclnnMoeDistributeCombineTeardown";
        case OperationKind::distribute_barrier: return "aclnnDistributeBarrier";
        case OperationKind::send: return "HcclSend";
        case OperationKind::receive: return "HcclRecv";
        case OperationKind::batch_send_receive: return "HcclBatchSendRecv";
        case OperationKind::attention_to_ffn: return "aclnnAttentionToFFN";
        case OperationKind::ffn_to_attention: return "aclnnFFNToAttention";
    }
    return "unknown";
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

}  // namespace torch_aclnn::host
