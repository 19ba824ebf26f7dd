// The ranks of a communicator, for operators of other libraries that compute and communicate in one.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "acl/acl_rt.h"
#include "engine/hccl/group.h"
#include "engine/hccl/operation.h"

namespace torch_aclnn::host {

class Communicator;

class TORCH_ACLNN_HOST_API Ranks {
   public:
    // Of the communicator that HcclGetCommName names so. Of several, as ranks of one process have, that of the thread's device. HCCL_E_PARA
    // if there is none.
    explicit Ranks(const std::string& name);

    int size() const;
    // Puts the operation on the stream. The body runs later, on the communicator's thread.
    void launch(Operation operation, aclrtStream stream, std::function<void(Group& group)> body) const;

   private:
    std::shared_ptr<Communicator> communicator_;
};

}  // namespace torch_aclnn::host
