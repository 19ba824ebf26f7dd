// What the environment says about collectives, read once.
#pragma once

#include <chrono>

namespace torch_aclnn::host {

struct CollectiveSettings {
    std::chrono::seconds connect_timeout;  // HCCL_CONNECT_TIMEOUT
    std::chrono::seconds exec_timeout;     // HCCL_EXEC_TIMEOUT
};

// HCCL_E_PARA for a variable that cannot be understood.
const CollectiveSettings& collective_settings();

}  // namespace torch_aclnn::host
