// The windows of a communicator's ranks: device memory that others write into without a call of the rank that it belongs to.
#pragma once

#include <cstdint>
#include <map>
#include <memory>

namespace torch_aclnn::host {

class Communicator;

struct Window {
    char* data;  // as a device sees it
    uint64_t bytes;
};
struct Windows {
    Window own;
    std::map<int, Window> others;  // by rank
};

// HCCL_E_PARA if the communicator has none.
std::shared_ptr<const Windows> windows_of(const Communicator* communicator);

}  // namespace torch_aclnn::host
