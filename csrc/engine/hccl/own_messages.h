// Messages from a rank to itself.
#pragma once

#include <deque>

#include "engine/hccl/group.h"

namespace torch_aclnn::host {

class TORCH_ACLNN_HOST_API OwnMessages {
   public:
    // Keeps a copy of the message.
    void send(const Message& message);
    // Receives the first message that has not been received; HCCL_E_PARA if there is none, or one of another size.
    void receive(const Message& message);

   private:
    std::deque<std::vector<char>> sent_;
};

}  // namespace torch_aclnn::host
