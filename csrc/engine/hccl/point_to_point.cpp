// Messages between two ranks.

#include "engine/hccl/batch.h"
#include "engine/hccl/communicator.h"
#include "engine/hccl/data_types.h"
#include "engine/hccl/guarded_hccl.h"
#include "hccl/hccl.h"

namespace torch_aclnn::host {
namespace {

Message message_of(const Communicator& communicator, const char* parameter, void* buffer, uint64_t count, HcclDataType type,
                   const char* peer_parameter, uint32_t peer, aclrtStream stream) {
    if (peer >= static_cast<uint32_t>(communicator.size()))
        refuse(HCCL_E_PARA, peer_parameter, text("less than ", communicator.size()), std::to_string(peer));
    const size_t bytes = bytes_of_elements("count", count, type);
    require_device_memory({{parameter, buffer, bytes}});
    return {buffer, bytes, count, type, static_cast<int>(peer), stream};
}

Operation operation_of(OperationKind kind, const char* parameter, const Message& message) {
    return {{kind, message.type, message.count, message.peer, -1},
            {},
            {},
            {{parameter, message.data, message.bytes, kind == OperationKind::send}}};
}

TraceDetails arguments_of(uint64_t count, HcclDataType type, const char* peer_parameter, uint32_t peer, HcclComm comm, aclrtStream stream) {
    return on_communicator(call_arguments("count", count, "dataType", name_of(type), peer_parameter, peer), comm, stream);
}

// The peers of the messages in one direction.
std::string peers(const HcclSendRecvItem* items, uint32_t count, HcclSendRecvType direction) {
    std::vector<uint32_t> found;
    for (uint32_t i = 0; items != nullptr && i < count; ++i)
        if (items[i].sendRecvType == direction) found.push_back(items[i].remoteRank);
    return json_array(found, [](uint32_t peer) { return json_of(peer); });
}

}  // namespace
}  // namespace torch_aclnn::host

using namespace torch_aclnn::host;

extern "C" HcclResult HcclSend(void* sendBuf, uint64_t count, HcclDataType dataType, uint32_t destRank, HcclComm comm, aclrtStream stream) {
    return hccl_traced(
        __func__,
        [&] {
            const auto communicator = find_communicator(comm);
            const auto message = message_of(*communicator, "sendBuf", sendBuf, count, dataType, "destRank", destRank, stream);
            if (add_to_batch(communicator, stream, message, HCCL_SEND)) return;
            communicator->launch(operation_of(OperationKind::send, "sendBuf", message), stream, [=](Group& group) { group.send(message); });
        },
        [&] { return arguments_of(count, dataType, "destRank", destRank, comm, stream); });
}

extern "C" HcclResult HcclRecv(void* recvBuf, uint64_t count, HcclDataType dataType, uint32_t srcRank, HcclComm comm, aclrtStream stream) {
    return hccl_traced(
        __func__,
        [&] {
            const auto communicator = find_communicator(comm);
            const auto message = message_of(*communicator, "recvBuf", recvBuf, count, dataType, "srcRank", srcRank, stream);
            if (add_to_batch(communicator, stream, message, HCCL_RECV)) return;
            communicator->launch(operation_of(OperationKind::receive, "recvBuf", message), stream,
                                 [=](Group& group) { group.receive(message); });
        },
        [&] { return arguments_of(count, dataType, "srcRank", srcRank, comm, stream); });
}

extern "C" HcclResult HcclBatchSendRecv(HcclSendRecvItem* sendRecvInfo, uint32_t itemNum, HcclComm comm, aclrtStream stream) {
    return hccl_traced(
        __func__,
        [&] {
            const auto communicator = find_communicator(comm);
            require_hccl_pointer("sendRecvInfo", sendRecvInfo);
            if (itemNum == 0) refuse(HCCL_E_PARA, "itemNum", "at least 1", "0");
            Batch batch{communicator, stream, {}, {}};
            for (uint32_t i = 0; i < itemNum; ++i) {
                const auto& item = sendRecvInfo[i];
                if (item.sendRecvType != HCCL_SEND && item.sendRecvType != HCCL_RECV)
                    refuse(HCCL_E_PARA, text("sendRecvInfo[", i, "].sendRecvType"), "HCCL_SEND or HCCL_RECV",
                           std::to_string(static_cast<int>(item.sendRecvType)));
                batch.add(message_of(*communicator, "buf", item.buf, item.count, item.dataType, "remoteRank", item.remoteRank, stream),
                          item.sendRecvType);
            }
            launch(batch);
        },
        [&] {
            TraceDetails details = call_arguments("itemNum", itemNum);
            details.arguments.add_json("destRanks", peers(sendRecvInfo, itemNum, HCCL_SEND));
            details.arguments.add_json("srcRanks", peers(sendRecvInfo, itemNum, HCCL_RECV));
            return on_communicator(details, comm, stream);
        });
}
