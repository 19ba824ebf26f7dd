#include "world.h"

namespace fuzz {

static aclTensor* make(const TensorSpec& t, void* data) {
    return aclCreateTensor(t.sizes.data(), t.sizes.size(), t.dtype, t.null_strides ? nullptr : t.strides.data(), t.offset, t.format,
                           t.storage.data(), t.storage.size(), data);
}

Handles::Handles(const Call& call, const Blocks& blocks) : call_(call) {
    for (size_t i = 0; i < call.tensors.size(); ++i) {
        const TensorSpec& t = call.tensors[i];
        if (t.handle_of != i) continue;
        if (t.handle == Handle::null) continue;
        if (t.handle == Handle::foreign) {
            arguments_.tensors[i] = static_cast<aclTensor*>(foreign(call.choice + i));
            continue;
        }
        arguments_.tensors[i] = make(t, blocks.data(i));
        owns_tensor_[i] = arguments_.tensors[i] != nullptr;
        if (owns_tensor_[i] != (t.sizes.size() <= 16 && t.storage.size() <= 16)) fail(call, "aclCreateTensor is wrong about the rank");
    }
    for (size_t i = 0; i < call.tensors.size(); ++i) arguments_.tensors[i] = arguments_.tensors[call.tensors[i].handle_of];
    for (size_t i = 0; i < call.arrays.size(); ++i) {
        const ArraySpec& a = call.arrays[i];
        if (a.handle == Handle::foreign) arguments_.arrays[i] = static_cast<aclIntArray*>(foreign(call.choice + i));
        if (a.handle == Handle::null || a.handle == Handle::foreign) continue;
        arguments_.arrays[i] = aclCreateIntArray(a.values.data(), a.values.size());
        owns_array_[i] = true;
    }
    for (size_t i = 0; i < call.tensors.size(); ++i)
        if (owns_tensor_[i] && call.tensors[i].handle == Handle::destroyed) destroy_tensor(i);
    for (size_t i = 0; i < call.arrays.size(); ++i)
        if (owns_array_[i] && call.arrays[i].handle == Handle::destroyed) destroy_array(i);
}

Handles::~Handles() {
    for (size_t i = 0; i < call_.tensors.size(); ++i)
        if (owns_tensor_[i]) destroy_tensor(i);
    for (size_t i = 0; i < call_.arrays.size(); ++i)
        if (owns_array_[i]) destroy_array(i);
}

void Handles::destroy_tensor(size_t i) {
    i = call_.tensors[i].handle_of;
    if (!owns_tensor_[i] || aclDestroyTensor(arguments_.tensors[i]) != ACLNN_SUCCESS) fail(call_, "a live tensor could not be destroyed");
    if (aclDestroyTensor(arguments_.tensors[i]) != ACLNN_ERR_PARAM_INVALID) fail(call_, "a tensor was destroyed twice");
    owns_tensor_[i] = false;
}

void Handles::destroy_array(size_t i) {
    if (aclDestroyIntArray(arguments_.arrays[i]) != ACLNN_SUCCESS) fail(call_, "a live array could not be destroyed");
    if (aclDestroyIntArray(arguments_.arrays[i]) != ACLNN_ERR_PARAM_INVALID) fail(call_, "an array was destroyed twice");
    owns_array_[i] = false;
}

void* Handles::foreign(size_t choice) {
    static const int64_t numbers[64] = {};
    static aclScalar* const scalar = aclCreateScalar(const_cast<int64_t*>(numbers), ACL_INT64);  // a live handle of another kind
    static char* const inside =
        reinterpret_cast<char*>(aclCreateTensor(numbers, 0, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, numbers, 0, nullptr));
    void* const addresses[] = {
        const_cast<int64_t*>(numbers), scalar, inside + 8, inside + 1, reinterpret_cast<void*>(1), reinterpret_cast<void*>(INT64_MIN),
        reinterpret_cast<void*>(-1)};
    return addresses[choice % (sizeof addresses / sizeof *addresses)];
}

}  // namespace fuzz
