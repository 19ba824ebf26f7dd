#include <dlfcn.h>

#include <atomic>

#include "engine/hccl/group.h"
#include "engine/runtime/config/config.h"
#include "engine/runtime/error/error.h"

namespace torch_aclnn::host {

static std::atomic<Transport*> registered{nullptr};

template <class Function>
static Function* python_function(const char* name) {
    return reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
}

// Imports torch in a Python process that has not done so; a failure is printed there. The transport registers itself as it is loaded.
static void import_torch() {
    auto* const is_initialized = python_function<int()>("Py_IsInitialized");
    if (is_initialized == nullptr || is_initialized() == 0) return;
    const int lock = python_function<int()>("PyGILState_Ensure")();
    python_function<int(const char*, void*)>("PyRun_SimpleStringFlags")("import torch_aclnn", nullptr);
    python_function<void(int)>("PyGILState_Release")(lock);
}

void set_transport(Transport* transport) noexcept {
    registered = transport;
}

Transport& transport() {
    if (config().rank_alone) return transport_alone();
    if (config().dry_run)  // a rank decides by the values that it knows, and others know other ones
        throw Error(HCCL_E_NOT_SUPPORT,
                    "a dry run (TORCH_ACLNN_HOST_COMPUTE=0) has no other ranks; expected TORCH_ACLNN_HOST_RANK_ALONE=1");
    if (registered == nullptr) import_torch();
    Transport* const found = registered;
    return found != nullptr ? *found : transport_alone();
}

}  // namespace torch_aclnn::host
