#include <atomic>

#include "engine/hccl/group.h"
#include "engine/runtime/error/error.h"

namespace torch_aclnn::host {
namespace {

std::atomic<Transport*> registered{nullptr};

}  // namespace

void set_transport(Transport* transport) noexcept {
    registered = transport;
}

Transport& transport() {
    Transport* const found = registered;
    if (found == nullptr)
        throw Error(HCCL_E_NOT_SUPPORT, "collectives need torch in the process, as `import torch` loads it: they run on its Gloo");
    return *found;
}

}  // namespace torch_aclnn::host
