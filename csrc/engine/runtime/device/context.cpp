#include "engine/runtime/device/context.h"

#include "engine/runtime/device/device.h"
#include "engine/runtime/error/call.h"
#include "engine/runtime/registry.h"

namespace torch_aclnn::host {
namespace {

struct Choice {
    aclrtContext context = nullptr;
    int device = -1;
};
thread_local Choice choice;
std::atomic<int> default_device{-1};

// Never destroyed: calls still come while the process exits.
Registry<Context>& contexts() {
    static auto* const once = new Registry<Context>(HandleKind::context);
    return *once;
}

aclError refuse_context(const char* function, aclrtContext context) {
    return fail(ACL_ERROR_RT_INVALID_HANDLE, text(function, ": context must be a live context, got ", context));
}

}  // namespace

aclrtContext make_context(int device, bool primary) {
    auto context = std::make_shared<Context>();
    context->device = device;
    context->primary = primary;
    return contexts().add(std::move(context));
}

void choose(aclrtContext context, int device) noexcept {
    choice = {context, device};
}

void set_default_device(int device) noexcept {
    default_device = device;
}

int chosen_device() noexcept {
    return choice.device >= 0 ? choice.device : default_device.load(std::memory_order_relaxed);
}

// The calling thread's context, or null.
static aclrtContext chosen_context() {
    Device* device = nullptr;
    if (choice.context != nullptr || chosen_device() < 0) return choice.context;
    return find_device("context", "device", chosen_device(), device) == ACL_SUCCESS ? device->primary_context() : nullptr;
}

aclError find_current_context(const char* function, std::shared_ptr<Context>& context) {
    context = contexts().find(chosen_context());
    if (context != nullptr) return ACL_SUCCESS;
    return fail(ACL_ERROR_RT_CONTEXT_NULL, text(function, ": the calling thread has no context; call aclrtSetDevice first"));
}

}  // namespace torch_aclnn::host

using namespace torch_aclnn::host;

extern "C" aclError aclrtCreateContext(aclrtContext* context, int32_t deviceId) {
    return guarded(__func__, [&](const char* function) -> aclError {
        if (context == nullptr) return fail_null(function, "context");
        Device* device = nullptr;
        if (aclError code = find_device(function, "deviceId", deviceId, device)) return code;
        *context = make_context(deviceId, false);
        choose(*context, deviceId);  // documented: the new context is the thread's current one
        return ACL_SUCCESS;
    });
}

extern "C" aclError aclrtDestroyContext(aclrtContext context) {
    return guarded(__func__, [&](const char* function) -> aclError {
        const auto found = contexts().find(context);
        if (found == nullptr) return refuse_context(function, context);
        if (found->primary) {
            return fail(ACL_ERROR_RT_PARAM_INVALID,
                        text(function, ": context must come from aclrtCreateContext, got the primary context of device ", found->device,
                             ", which aclrtResetDevice releases"));
        }
        contexts().remove(context);
        if (choice.context == context) choose(nullptr, -1);
        return ACL_SUCCESS;
    });
}

extern "C" aclError aclrtSetCurrentContext(aclrtContext context) {
    return guarded(__func__, [&](const char* function) -> aclError {
        const auto found = contexts().find(context);
        if (found == nullptr) return refuse_context(function, context);
        choose(context, found->device);
        return ACL_SUCCESS;
    });
}

extern "C" aclError aclrtGetCurrentContext(aclrtContext* context) {
    return guarded(__func__, [&](const char* function) -> aclError {
        if (context == nullptr) return fail_null(function, "context");
        std::shared_ptr<Context> current;
        if (aclError code = find_current_context(function, current)) return code;
        *context = chosen_context();
        return ACL_SUCCESS;
    });
}
