#include "engine/aten/registry.h"

const torchAclnnEntryPoint* torchAclnnHostEntryPoints(void) {
    return torch_aclnn::host::aten::EntryPoint::newest();
}
