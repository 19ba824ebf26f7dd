#include "engine/hccl/batch.h"

#include "engine/hccl/guarded_hccl.h"
#include "hccl/hccl.h"

namespace torch_aclnn::host {
namespace {

// The groups that a thread has begun and not ended, and the messages in them.
struct OpenGroup {
    int depth = 0;
    std::vector<Batch> batches;
};
thread_local OpenGroup open_group;

}  // namespace

void launch(const Batch& batch) {
    const auto messages = static_cast<uint64_t>(batch.sends.size() + batch.receives.size());
    Operation operation{{OperationKind::batch_send_receive, HCCL_DATA_TYPE_INT8, messages, -1, -1}, {}, {}, {}};
    for (const auto& message : batch.sends) operation.buffers.push_back({"what is sent", message.data, message.bytes, true});
    for (const auto& message : batch.receives) operation.buffers.push_back({"what is received", message.data, message.bytes});
    batch.communicator->launch(operation, batch.stream,
                               [sends = batch.sends, receives = batch.receives](Group& group) { group.exchange(sends, receives); });
}

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

}  // namespace torch_aclnn::host

using namespace torch_aclnn::host;

extern "C" HcclResult HcclGroupStart(void) {
    return hccl_traced(__func__, [] { ++open_group.depth; }, [] { return call_arguments(); });
}

extern "C" HcclResult HcclGroupEnd(void) {
    return hccl_traced(
        __func__,
        [] {
            if (open_group.depth == 0) throw Error(HCCL_E_PARA, "no HcclGroupStart of this thread came before it");
            if (--open_group.depth != 0) return;
            const auto batches = std::move(open_group.batches);
            open_group.batches.clear();
            for (const auto& batch : batches) launch(batch);
        },
        [] { return call_arguments(); });
}
