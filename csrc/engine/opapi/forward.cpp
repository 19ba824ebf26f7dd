#include "engine/opapi/forward.h"

#include <dlfcn.h>

#include "engine/runtime/error/guarded.h"

namespace torch_aclnn::host {

constexpr const char* kLibrary = "libaclnn_math.so";

[[noreturn]] static void refuse_to_call(const char* reason) {
    const char* const error = dlerror();
    throw Error(ACLNN_ERR_INNER_FIND_KERNEL_ERROR, text(kLibrary, reason, ": ", error != nullptr ? error : "the loader gives no reason"));
}

void* find_in_aclnn_math(const char* function) noexcept {
    void* found = nullptr;
    guarded(function, [&] {
        // The library lies beside libopapi, and its run path has torch's libraries, unless these are loaded already.
        void* const library = dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
        if (library == nullptr) refuse_to_call(" does not load, which needs torch's libraries");
        found = dlsym(library, function);
        if (found == nullptr) refuse_to_call(" is not of the same build");
    });
    return found;
}

}  // namespace torch_aclnn::host
