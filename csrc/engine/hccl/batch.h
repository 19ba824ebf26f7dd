// Messages that go at the same time, on one stream of a communicator.
#pragma once

#include <memory>
#include <vector>

#include "engine/hccl/communicator.h"

namespace torch_aclnn::host {

struct Batch {
    std::shared_ptr<Communicator> communicator;
    aclrtStream stream;
    std::vector<Message> sends, receives;

    void add(const Message& message, HcclSendRecvType type) { (type == HCCL_SEND ? sends : receives).push_back(message); }
};

void launch(const Batch& batch);

// Between HcclGroupStart and HcclGroupEnd of the calling thread: keeps the message until then. False: there is no group.
bool add_to_batch(const std::shared_ptr<Communicator>& communicator, aclrtStream stream, const Message& message, HcclSendRecvType type);

}  // namespace torch_aclnn::host
