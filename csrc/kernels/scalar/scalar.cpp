// The plain form: no lanes, no tables but the job's, no staging. It is what the tests compare the other forms with.
#include "kernels/scalar/average_pool.h"
#include "kernels/scalar/batch_norm.h"
#include "kernels/scalar/max_unpool.h"
#include "kernels/scalar/replication_pad.h"

namespace torch_aclnn::kernels {

const Loops scalar_loops{scalar::average_pool_planes, nullptr, scalar::replication_pad, scalar::max_unpool, scalar::batch_norm};

}  // namespace torch_aclnn::kernels
