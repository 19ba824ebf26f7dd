// The ranks of a communicator, for operators of other libraries that compute and communicate in one.
#pragma once

#include "acl/acl_rt.h"
#include "engine/hccl/group.h"
#include "engine/hccl/operation.h"

namespace torch_aclnn::host {

class Communicator;

// Device memory of a rank that others write into without a call of that rank.
struct Window {
    char* data;  // the address that a device sees
    uint64_t bytes;
};
struct Windows {
    Window own;
    std::map<int, Window> others;  // the other ranks' windows, by rank
};

class TORCH_ACLNN_HOST_API Ranks {
   public:
    // Finds the ranks of the communicator that has this name (HcclGetCommName). If several have it, as where ranks share a process, it is
    // that of the thread's device. HCCL_E_PARA if there is none.
    explicit Ranks(const std::string& name);

    int size() const { return size_; }
    int rank() const { return rank_; }
    // Returns the windows of HcclCommExchangeMem; HCCL_E_PARA if there are none.
    std::shared_ptr<const Windows> windows() const;
    // Puts the operation on the stream; HCCL_E_PARA if the communicator has been destroyed. The body runs later, on the communicator's
    // thread.
    void launch(Operation operation, aclrtStream stream, std::function<void(Group& group)> body) const;

   private:
    // Work that has been launched owns its Ranks, but must not be the last to keep the communicator, whose end waits for the thread.
    std::weak_ptr<Communicator> communicator_;
    int size_, rank_;
};

}  // namespace torch_aclnn::host
