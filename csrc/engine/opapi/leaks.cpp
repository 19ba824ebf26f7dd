// TORCH_ACLNN_HOST_LEAKS: what a program has not destroyed.
#include <cstdio>

#include "engine/opapi/executor.h"
#include "engine/runtime/device/process.h"

namespace torch_aclnn::host {
namespace {

void print_leaks() {
    const auto print = [](const char* kind, const void* handle, const std::string& what) {
        std::fprintf(stderr, "torch_aclnn: not destroyed before aclFinalize: %s %p%s\n", kind, handle, what.c_str());
    };
    const auto print_all = [&](SlotPool& slots, const char* kind) {
        slots.for_each_live([&](const void* handle) { print(kind, handle, ""); });
    };
    slots_of<aclOpExecutor>().for_each_live([&](const void* handle) {
        const auto& executor = *static_cast<const aclOpExecutor*>(handle);
        print("aclOpExecutor", handle, std::string(" of ") + executor.entry_point + (executor.has_run ? "" : ", which never ran"));
    });
    slots_of<aclTensor>().for_each_live([&](const void* handle) {
        const auto& tensor = *static_cast<const aclTensor*>(handle);
        print("aclTensor", handle, " of shape " + to_string(tensor.sizes) + " and type " + to_string(tensor.dtype));
    });
    print_all(slots_of<aclScalar>(), "aclScalar");
    print_all(slots_of<aclIntArray>(), "aclIntArray");
    print_all(slots_of<aclFloatArray>(), "aclFloatArray");
    print_all(slots_of<aclBoolArray>(), "aclBoolArray");
    print_all(slots_of<aclTensorList>(), "aclTensorList");
    print_all(slots_of<aclScalarList>(), "aclScalarList");
}

const bool leaks_are_reported = [] {
    add_leak_report(print_leaks);
    return true;
}();

}  // namespace
}  // namespace torch_aclnn::host
