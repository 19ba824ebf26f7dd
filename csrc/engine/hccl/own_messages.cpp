#include "engine/hccl/own_messages.h"

#include <algorithm>

#include "engine/runtime/error/error.h"
#include "engine/runtime/memory/host_view.h"

namespace torch_aclnn::host {

void OwnMessages::send(const Message& message) {
    const char* const data = host_view(static_cast<const char*>(message.data));
    sent_.emplace_back(data, data + message.bytes);
}

void OwnMessages::receive(const Message& message) {
    if (sent_.empty()) throw Error(HCCL_E_PARA, "a rank receives from itself what it has not sent");
    if (sent_.front().size() != message.bytes)
        throw Error(HCCL_E_PARA, "a rank receives from itself another number of bytes than it has sent");
    std::copy(sent_.front().begin(), sent_.front().end(), host_view(static_cast<char*>(message.data)));
    sent_.pop_front();
}

}  // namespace torch_aclnn::host
