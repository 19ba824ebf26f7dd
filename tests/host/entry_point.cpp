// An entry point of a library that comes and goes.

#include "engine/runtime/diagnostics/entry_point.h"

static constexpr torchAclnnParameter parameters[] = {{"In", "self", 0}, {"OptOut", "out", 1}};
static torch_aclnn::host::EntryPoint entry_point("aclnnPassing", "tests", 5, parameters);

extern "C" __attribute__((visibility("default"))) void count_call() {
    entry_point.count_call();
}
