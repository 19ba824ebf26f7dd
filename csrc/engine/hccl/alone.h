// A rank whose peers are not there: each of them is taken to hold what this one holds. It needs neither torch nor a connection.
#pragma once

#include "engine/hccl/group.h"

namespace torch_aclnn::host {

// With TORCH_ACLNN_HOST_RANK_ALONE any rank of any number of them, and otherwise the only rank of a communicator in a process that has no
// other transport.
Transport& transport_alone();

}  // namespace torch_aclnn::host
