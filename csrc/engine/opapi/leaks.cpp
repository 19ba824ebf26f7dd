// TORCH_ACLNN_HOST_MODE=leaks: handles and executors that a program has not destroyed.
#include "engine/runtime/diagnostics/leaks.h"

#include "engine/opapi/executor.h"
#include "engine/opapi/executor_cache.h"
#include "engine/runtime/text.h"

namespace torch_aclnn::host {

static void list_leaks(LeakList& list) {
    forget_cached_executors();  // cached executors keep the members of lists that the program has destroyed
    const auto add = [&](const char* kind, const void* handle, const std::string& more) {
        list.add("destroyed", kind + more, text(kind, " ", handle, more));
    };
    const auto add_all = [&](SlotPool& slots, const char* kind) {
        slots.for_each_live([&](const void* handle) { add(kind, handle, ""); });
    };
    slots_of<aclOpExecutor>().for_each_live([&](const void* handle) {
        const auto& executor = *static_cast<const aclOpExecutor*>(handle);
        if (executor.is_in_cache) return;
        add("aclOpExecutor", handle, std::string(" of ") + executor.entry_point + (executor.has_run ? "" : ", which never ran"));
    });
    slots_of<aclTensor>().for_each_live([&](const void* handle) {
        const auto& tensor = *static_cast<const aclTensor*>(handle);
        add("aclTensor", handle, " of shape " + to_string(tensor.sizes) + " and type " + to_string(tensor.dtype));
    });
    add_all(slots_of<aclScalar>(), "aclScalar");
    add_all(slots_of<aclIntArray>(), "aclIntArray");
    add_all(slots_of<aclFloatArray>(), "aclFloatArray");
    add_all(slots_of<aclBoolArray>(), "aclBoolArray");
    add_all(slots_of<aclTensorList>(), "aclTensorList");
    add_all(slots_of<aclScalarList>(), "aclScalarList");
}

const bool leaks_are_listed = (add_leak_report(list_leaks), true);
}  // namespace torch_aclnn::host
