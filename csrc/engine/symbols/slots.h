// The slots of entry points that are added, and the names under which the linker exports their functions.
#pragma once

#include <atomic>

#include "engine/symbols/symbols.h"

#define TORCH_ACLNN_FIRST_PHASE "torchAclnnFirstPhaseOfSlot"
#define TORCH_ACLNN_SECOND_PHASE "torchAclnnSecondPhaseOfSlot"
#define TORCH_ACLNN_SLOT_COUNT 512

namespace torch_aclnn::host {

static_assert(TORCH_ACLNN_SLOT_COUNT == kMaxAddedEntryPoints);

extern std::atomic<const AddedEntryPoint*> slots[kMaxAddedEntryPoints];

}  // namespace torch_aclnn::host
