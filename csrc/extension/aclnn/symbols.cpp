#include "extension/aclnn/symbols.h"

#include <c10/util/Exception.h>
#include <dlfcn.h>

// Exported by torch_npu; it looks through the operator libraries in CANN's documented order.
void* GetOpApiFuncAddr(const char* name);

namespace torch_aclnn {

void* find_operator(const char* name) {
    return GetOpApiFuncAddr(name);
}

void* resolve_operator(const char* name) {
    void* address = find_operator(name);
    TORCH_CHECK_NOT_IMPLEMENTED(address != nullptr, "torch_aclnn: the operator library has no entry point ", name,
                                "; `torch-aclnn info` lists where each one is looked for");
    return address;
}

void* find_in_runtime(const char* name) {
    // torch_npu has loaded the library already, so this only finds its handle.
    static void* const library = dlopen("libascendcl.so", RTLD_LAZY | RTLD_NOLOAD);
    return library == nullptr ? nullptr : dlsym(library, name);
}

}  // namespace torch_aclnn
