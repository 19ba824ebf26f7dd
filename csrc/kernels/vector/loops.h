// The loops of the instruction set that the including file names.
#pragma once

#include "kernels/vector/average_pool_channels.h"
#include "kernels/vector/average_pool_planes.h"
#include "kernels/vector/batch_norm.h"
#include "kernels/vector/max_unpool.h"
#include "kernels/vector/replication_pad.h"

namespace torch_aclnn::kernels::KERNEL_ISA {

constexpr Loops kLoops{average_pool_planes, average_pool_channels, replication_pad, max_unpool, batch_norm};

}  // namespace torch_aclnn::kernels::KERNEL_ISA
