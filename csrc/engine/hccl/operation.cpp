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
        case OperationKind::send: return "HcclSend";
        case OperationKind::receive: return "HcclRecv";
        case OperationKind::batch_send_receive: return "HcclBatchSendRecv";
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

}  // namespace torch_aclnn::host
