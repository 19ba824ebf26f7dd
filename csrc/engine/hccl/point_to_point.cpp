// Messages between two ranks.

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
            {{parameter, message.data, message.bytes, kind == OperationKind::send, message.is_few_integers()}}};
}

std::string peers(const HcclSendRecvItem* items, uint32_t count, HcclSendRecvType direction) {
    std::vector<uint32_t> found;
    for (uint32_t i = 0; items != nullptr && i < count; ++i)
        if (items[i].sendRecvType == direction) found.push_back(items[i].remoteRank);
    return json_array(found, [](uint32_t peer) { return json_of(peer); });
}

// Messages that are exchanged at the same time, on one stream of a communicator.
struct Batch {
    std::shared_ptr<Communicator> communicator;
    aclrtStream stream;
    std::vector<Message> sends, receives;

    void add(const Message& message, HcclSendRecvType type) { (type == HCCL_SEND ? sends : receives).push_back(message); }
};

// The groups that a thread has begun and not ended, and the messages in them.
struct OpenGroup {
    int depth = 0;
    std::vector<Batch> batches;
};
thread_local OpenGroup open_group;

void launch(const Batch& batch) {
    const auto messages = static_cast<uint64_t>(batch.sends.size() + batch.receives.size());
    Operation operation{{OperationKind::batch_send_receive, HCCL_DATA_TYPE_INT8, messages, -1, -1}, {}, {}, {}};
    for (const auto& message : batch.sends) operation.buffers.push_back({"what is sent", message.data, message.bytes, true});
    for (const auto& message : batch.receives)
        operation.buffers.push_back({"what is received", message.data, message.bytes, false, message.is_few_integers()});
    batch.communicator->launch(operation, batch.stream,
                               [sends = batch.sends, receives = batch.receives](Group& group) { group.exchange(sends, receives); });
}

// Keeps the message until HcclGroupEnd of the calling thread. Returns false if it has called no HcclGroupStart.
bool add_to_batch(const std::shared_ptr<Communicator>& communicator, aclrtStream stream, const Message& message, HcclSendRecvType type) {
    if (open_group.depth == 0) return false;
    for (auto& batch : open_group.batches) {
        if (batch.communicator != communicator || batch.stream != stream) continue;
        batch.add(message, type);
        return true;
    }
    open_group.batches.push_back({communicator, stream, {}, {}});
    open_group.batches.back().add(message, type);
    return true;
}

}  // namespace
}  // namespace torch_aclnn::host

using namespace torch_aclnn::host;

extern "C" HcclResult HcclSend(void* sendBuf, uint64_t count, HcclDataType dataType, uint32_t destRank, HcclComm comm, aclrtStream stream) {
    const auto launch = [&](const auto& communicator) {
        const auto message = message_of(*communicator, "sendBuf", sendBuf, count, dataType, "destRank", destRank, stream);
        if (add_to_batch(communicator, stream, message, HCCL_SEND)) return;
        communicator->launch(operation_of(OperationKind::send, "sendBuf", message), stream, [=](Group& group) { group.send(message); });
    };
    return traced_on(comm, stream, __func__, call_arguments("count", count, "dataType", name_of(dataType), "destRank", destRank), launch);
}

extern "C" HcclResult HcclRecv(void* recvBuf, uint64_t count, HcclDataType dataType, uint32_t srcRank, HcclComm comm, aclrtStream stream) {
    const auto launch = [&](const auto& communicator) {
        const auto message = message_of(*communicator, "recvBuf", recvBuf, count, dataType, "srcRank", srcRank, stream);
        if (add_to_batch(communicator, stream, message, HCCL_RECV)) return;
        communicator->launch(operation_of(OperationKind::receive, "recvBuf", message), stream,
                             [=](Group& group) { group.receive(message); });
    };
    return traced_on(comm, stream, __func__, call_arguments("count", count, "dataType", name_of(dataType), "srcRank", srcRank), launch);
}

extern "C" HcclResult HcclBatchSendRecv(HcclSendRecvItem* sendRecvInfo, uint32_t itemNum, HcclComm comm, aclrtStream stream) {
    const auto arguments = [&] {
        TraceDetails details = call_arguments("itemNum", itemNum)();
        details.arguments.add_json("destRanks", peers(sendRecvInfo, itemNum, HCCL_SEND));
        details.arguments.add_json("srcRanks", peers(sendRecvInfo, itemNum, HCCL_RECV));
        return details;
    };
    return traced_on(comm, stream, __func__, arguments, [&](const auto& communicator) {
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
    });
}

extern "C" HcclResult HcclGroupStart(void) {
    return hccl_traced(__func__, call_arguments(), [] { ++open_group.depth; });
}

extern "C" HcclResult HcclGroupEnd(void) {
    return hccl_traced(__func__, call_arguments(), [] {
        if (open_group.depth == 0) throw Error(HCCL_E_PARA, "no HcclGroupStart of this thread came before it");
        if (--open_group.depth != 0) return;
        const auto batches = std::move(open_group.batches);
        open_group.batches.clear();
        for (const auto& batch : batches) launch(batch);
    });
}
