// The collectives: checks of the arguments, and what runs later on the communicator's thread.

#include "engine/hccl/communicator.h"
#include "engine/hccl/data_types.h"
#include "engine/hccl/guarded_hccl.h"
#include "hccl/hccl.h"

namespace torch_aclnn::host {

static void require_root(const Communicator& communicator, uint32_t root) {
    if (root >= static_cast<uint32_t>(communicator.size()))
        refuse(HCCL_E_PARA, "root", text("less than ", communicator.size()), std::to_string(root));
}

static Operation operation_of(OperationKind kind, uint64_t count, HcclDataType type, std::vector<Buffer> buffers, int root = -1,
                              int op = -1) {
    return {{kind, type, count, root, op}, {}, {}, std::move(buffers)};
}
}  // namespace torch_aclnn::host

using namespace torch_aclnn::host;

extern "C" HcclResult HcclAllReduce(void* sendBuf, void* recvBuf, uint64_t count, HcclDataType dataType, HcclReduceOp op, HcclComm comm,
                                    aclrtStream stream) {
    const auto launch = [&](const auto& communicator) {
        require_reduction(dataType, op);
        const size_t bytes = bytes_of_elements("count", count, dataType);
        const std::vector<Buffer> buffers{{"sendBuf", sendBuf, bytes, true}, {"recvBuf", recvBuf, bytes}};
        communicator->launch(operation_of(OperationKind::all_reduce, count, dataType, buffers, -1, op), stream,
                             [=](Group& group) { group.all_reduce(sendBuf, recvBuf, count, dataType, op); });
    };
    return traced_on(comm, stream, __func__, call_arguments("count", count, "dataType", name_of(dataType), "op", name_of(op)), launch);
}

extern "C" HcclResult HcclReduce(void* sendBuf, void* recvBuf, uint64_t count, HcclDataType dataType, HcclReduceOp op, uint32_t root,
                                 HcclComm comm, aclrtStream stream) {
    const auto launch = [&](const auto& communicator) {
        require_root(*communicator, root);
        require_reduction(dataType, op);
        const int target = static_cast<int>(root);
        const size_t bytes = bytes_of_elements("count", count, dataType);
        std::vector<Buffer> buffers{{"sendBuf", sendBuf, bytes, true}};
        if (communicator->rank() == target) buffers.push_back({"recvBuf", recvBuf, bytes});
        communicator->launch(operation_of(OperationKind::reduce, count, dataType, buffers, target, op), stream,
                             [=](Group& group) { group.reduce(sendBuf, recvBuf, count, dataType, op, target); });
    };
    return traced_on(comm, stream, __func__, call_arguments("count", count, "dataType", name_of(dataType), "op", name_of(op), "root", root),
                     launch);
}

extern "C" HcclResult HcclBroadcast(void* buf, uint64_t count, HcclDataType dataType, uint32_t root, HcclComm comm, aclrtStream stream) {
    const auto launch = [&](const auto& communicator) {
        require_root(*communicator, root);
        const size_t bytes = bytes_of_elements("count", count, dataType);
        const int source = static_cast<int>(root);
        communicator->launch(operation_of(OperationKind::broadcast, count, dataType, {{"buf", buf, bytes}}, source), stream,
                             [=](Group& group) { group.broadcast(buf, bytes, source); });
    };
    return traced_on(comm, stream, __func__, call_arguments("count", count, "dataType", name_of(dataType), "root", root), launch);
}

extern "C" HcclResult HcclAllGather(void* sendBuf, void* recvBuf, uint64_t sendCount, HcclDataType dataType, HcclComm comm,
                                    aclrtStream stream) {
    const auto launch = [&](const auto& communicator) {
        const size_t bytes = bytes_of_elements("sendCount", sendCount, dataType);
        const size_t all_bytes = bytes_of_elements("sendCount", sendCount, dataType, communicator->size());
        const std::vector<Buffer> buffers{{"sendBuf", sendBuf, bytes, true}, {"recvBuf", recvBuf, all_bytes}};
        communicator->launch(operation_of(OperationKind::all_gather, sendCount, dataType, buffers), stream,
                             [=](Group& group) { group.all_gather(sendBuf, recvBuf, bytes); });
    };
    return traced_on(comm, stream, __func__, call_arguments("sendCount", sendCount, "dataType", name_of(dataType)), launch);
}

extern "C" HcclResult HcclReduceScatter(void* sendBuf, void* recvBuf, uint64_t recvCount, HcclDataType dataType, HcclReduceOp op,
                                        HcclComm comm, aclrtStream stream) {
    const auto launch = [&](const auto& communicator) {
        require_reduction(dataType, op);
        const size_t bytes = bytes_of_elements("recvCount", recvCount, dataType);
        const size_t all_bytes = bytes_of_elements("recvCount", recvCount, dataType, communicator->size());
        const std::vector<Buffer> buffers{{"sendBuf", sendBuf, all_bytes, true}, {"recvBuf", recvBuf, bytes}};
        communicator->launch(operation_of(OperationKind::reduce_scatter, recvCount, dataType, buffers, -1, op), stream,
                             [=](Group& group) { group.reduce_scatter(sendBuf, recvBuf, recvCount, dataType, op); });
    };
    return traced_on(comm, stream, __func__, call_arguments("recvCount", recvCount, "dataType", name_of(dataType), "op", name_of(op)),
                     launch);
}

extern "C" HcclResult HcclScatter(void* sendBuf, void* recvBuf, uint64_t recvCount, HcclDataType dataType, uint32_t root, HcclComm comm,
                                  aclrtStream stream) {
    const auto launch = [&](const auto& communicator) {
        require_root(*communicator, root);
        const int source = static_cast<int>(root);
        const size_t bytes = bytes_of_elements("recvCount", recvCount, dataType);
        const size_t all_bytes = bytes_of_elements("recvCount", recvCount, dataType, communicator->size());
        std::vector<Buffer> buffers{{"recvBuf", recvBuf, bytes}};
        if (communicator->rank() == source) buffers.push_back({"sendBuf", sendBuf, all_bytes, true});
        communicator->launch(operation_of(OperationKind::scatter, recvCount, dataType, buffers, source), stream,
                             [=](Group& group) { group.scatter(sendBuf, recvBuf, bytes, source); });
    };
    return traced_on(comm, stream, __func__, call_arguments("recvCount", recvCount, "dataType", name_of(dataType), "root", root), launch);
}

extern "C" HcclResult HcclBarrier(HcclComm comm, aclrtStream stream) {
    return traced_on(comm, stream, __func__, call_arguments(), [&](const auto& communicator) {
        communicator->launch(operation_of(OperationKind::barrier, 1, HCCL_DATA_TYPE_INT8, {}), stream, [](Group& group) {
            int8_t nothing = 0;
            group.all_reduce(&nothing, &nothing, 1, HCCL_DATA_TYPE_INT8, HCCL_REDUCE_SUM);
        });
    });
}
