// The phases of entry points in libraries of programs.
#include "torch_aclnn/custom_operator.h"

#include <mutex>

#include "engine/opapi/checks.h"
#include "engine/runtime/memory/host_view.h"

namespace torch_aclnn::host {
namespace {

// Returns the record of that name: the engine's own, if the program's library stands in for the engine's, or a new one that is never
// deleted.
EntryPoint& record_of(const char* name) {
    static std::mutex mutex;
    const std::lock_guard lock(mutex);
    EntryPoint* const found = EntryPoint::find(name);
    if (found != nullptr && found->description().refused == 0) return *found;
    if (found != nullptr) found->unlist();  // the library implements what the engine refuses
    const auto* const kept = new std::string(name);
    return *new EntryPoint(kept->c_str(), "libraries of the program", ANY.bits());
}

torchAclnnTensor shown(const aclTensor& tensor) {
    return {host_view(tensor.first_element()), tensor.sizes.begin(), tensor.strides.begin(), static_cast<int64_t>(tensor.rank()),
            tensor.dtype};
}

// 507015 with the function's message, if the function refuses.
void compute_all(const aclOpExecutor& executor, torchAclnnCompute compute, void* context) {
    std::vector<torchAclnnTensor> tensors;
    for (const WatchedHandle& handle : executor.watched) tensors.push_back(shown(*handle.tensor()));
    std::array<char, 2048> message{};
    if (compute(context, tensors.data(), message.data(), message.size()) == 0) return;
    message.back() = '\0';
    throw Error(ACL_ERROR_RT_AICORE_EXCEPTION, message[0] != '\0' ? message.data() : "the function gives no reason");
}

void watch(aclOpExecutor& executor, const torchAclnnArgument& argument) {
    require_not_null("name of an argument", argument.name);
    require_handle(argument.name, argument.tensor);
    const bool is_written = argument.isWritten != 0;
    require_device_view({argument.name, argument.tensor}, is_written);
    if (is_written)
        executor.watch(argument.name, const_cast<aclTensor*>(argument.tensor));
    else
        executor.watch(argument.name, argument.tensor);
}

struct Content {
    const void* first;
    uint64_t count;
    aclDataType type;
};

template <class Handle>
const Handle* as(const void* handle) {
    return slots_of<Handle>().is_live(handle) ? static_cast<const Handle*>(handle) : nullptr;
}

Content content_of(const void* handle) {
    if (const auto* const ints = as<aclIntArray>(handle)) return {ints->values.data(), ints->values.size(), ACL_INT64};
    if (const auto* const floats = as<aclFloatArray>(handle)) return {floats->values.data(), floats->values.size(), ACL_FLOAT};
    if (const auto* const bools = as<aclBoolArray>(handle)) return {bools->values.data(), bools->values.size(), ACL_BOOL};
    if (const auto* const scalar = as<aclScalar>(handle)) return {scalar->bytes.data(), 1, scalar->dtype};
    return {nullptr, 0, ACL_DT_UNDEFINED};
}

}  // namespace
}  // namespace torch_aclnn::host

using namespace torch_aclnn::host;

const void* torchAclnnHostContent(const void* handle, uint64_t* count, aclDataType* type) {
    const Content content = content_of(handle);
    if (count != nullptr) *count = content.count;
    if (type != nullptr) *type = content.type;
    return content.first;
}

const aclTensor* torchAclnnHostMember(const aclTensorList* list, uint64_t index) {
    const auto* const live = as<aclTensorList>(list);
    return live != nullptr && index < live->members.size() ? live->members[index].get() : nullptr;
}

aclnnStatus torchAclnnHostFirstPhase(const char* name, const torchAclnnArgument* arguments, size_t count, torchAclnnCompute compute,
                                     void* context, void (*destroy)(void* context), uint64_t* workspaceSize, aclOpExecutor** executor) {
    std::shared_ptr<void> owned;
    const auto own = [&] {
        owned = {context, [destroy](void* one) {
                     if (destroy != nullptr && one != nullptr) destroy(one);
                 }};
    };
    if (const int refused = aclnn_guarded(__func__, own)) return refused;
    const auto make = [&] {
        require_not_null("name", name);
        require_not_null("compute", reinterpret_cast<const void*>(compute));
        if (count > 0) require_not_null("arguments", arguments);
        auto made =
            std::make_unique<aclOpExecutor>(name, [compute, owned](const aclOpExecutor& one) { compute_all(one, compute, owned.get()); });
        for (size_t i = 0; i < count; ++i) watch(*made, arguments[i]);
        (void)require_outputs_apart(made->watched);
        return made;
    };
    const auto describe = [&](JsonObject& line) {
        for (size_t i = 0; arguments != nullptr && i < count; ++i) add_argument(line, arguments[i].name, arguments[i].tensor);
    };
    return run_phase1(name != nullptr ? name : __func__, workspaceSize, executor, make, describe);
}

aclnnStatus torchAclnnHostSecondPhase(const char* name, void* workspace, uint64_t workspaceSize, aclOpExecutor* executor,
                                      aclrtStream stream) {
    EntryPoint* record = nullptr;
    const auto find = [&] {
        require_not_null("name", name);
        record = &record_of(name);
    };
    if (const int refused = aclnn_guarded(__func__, find)) return refused;
    return run_phase2(*record, workspace, workspaceSize, executor, stream);
}
