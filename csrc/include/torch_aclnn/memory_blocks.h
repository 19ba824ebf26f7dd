// What a caching allocator of the program does with device memory, which the host engine cannot see. This is the engine's own and not part
// of CANN's interface. In libascendcl.so.
#pragma once

#include "acl/acl_base.h"

// The allocator has given out the block at the address, so that what used its memory before has no business there any more. With
// TORCH_ACLNN_HOST_MODE=check_streams the engine then tells a missing record_stream from a missing event; otherwise this does nothing.
ACL_FUNC_VISIBILITY void torchAclnnHostBlockAllocated(const void* block);
