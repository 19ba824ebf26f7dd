#include "engine/runtime/device/context.h"

#include "engine/runtime/calling_thread.h"
#include "engine/runtime/device/device.h"
#include "engine/runtime/error/guarded.h"
#include "engine/runtime/handle_table.h"
#include "engine/runtime/lasting.h"

namespace torch_aclnn::host {

static thread_local aclrtContext thread_context = nullptr;

constexpr auto& contexts = lasting<HandleTable<Context>, HandleKind::context>;

static std::shared_ptr<Context> find_context(aclrtContext handle) {
    auto context = contexts().find(handle);
    if (context == nullptr) refuse(ACL_ERROR_RT_INVALID_HANDLE, "context", "a live context", text(handle));
    return context;
}

static aclrtContext current_handle() {
    if (thread_context != nullptr || current_device_index() < 0) return thread_context;
    return current_device().primary_context();
}

aclrtContext make_context(int device, bool primary) {
    auto context = std::make_shared<Context>();
    context->device = device;
    context->primary = primary;
    return contexts().add(std::move(context));
}

void set_current(aclrtContext context, int device) noexcept {
    thread_context = context;
    set_current_device_index(device);
}

std::shared_ptr<Context> current_context() {
    auto context = contexts().find(current_handle());
    if (context == nullptr) refuse(ACL_ERROR_RT_CONTEXT_NULL, "calling thread", "a current context, as aclrtSetDevice sets it", "none");
    return context;
}

}  // namespace torch_aclnn::host

using namespace torch_aclnn::host;

extern "C" aclError aclrtCreateContext(aclrtContext* context, int32_t deviceId) {
    return guarded(__func__, [&] {
        require_pointer("context", context);
        (void)find_device("deviceId", deviceId);
        *context = make_context(deviceId, false);
        set_current(*context, deviceId);  // documented: the new context is the thread's current one
    });
}

extern "C" aclError aclrtDestroyContext(aclrtContext context) {
    return guarded(__func__, [&] {
        const auto found = find_context(context);
        if (found->primary)
            refuse(ACL_ERROR_RT_PARAM_INVALID, "context", "one from aclrtCreateContext",
                   text("the primary context of device ", found->device, ", which aclrtResetDevice releases"));
        contexts().remove(context);
        if (thread_context == context) set_current(nullptr, -1);
    });
}

extern "C" aclError aclrtSetCurrentContext(aclrtContext context) {
    return guarded(__func__, [&] { set_current(context, find_context(context)->device); });
}

extern "C" aclError aclrtGetCurrentContext(aclrtContext* context) {
    return write_result(__func__, "context", context, [&] {
        (void)current_context();
        return current_handle();
    });
}
