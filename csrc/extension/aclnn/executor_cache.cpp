#include "extension/aclnn/executor_cache.h"

#include <ATen/Context.h>

// torch_npu exports these, though not in every version; absent ones are null.
namespace c10_npu {
[[gnu::weak]] uint32_t GetDeterministicLevel();
}

namespace torch_aclnn {
namespace {

// Functions of the operator library that are no documented interface but that torch_npu calls, where they exist, as we do here.
using CanUse = bool (*)(const char* entry_point);
using SetState = void (*)();
using AddAddress = void (*)(void* address);
using SetKey = void (*)(const void* key, size_t size);
using FindExecutor = aclOpExecutor* (*)(const void* key, size_t size, uint64_t* workspace_size);

struct Functions {
    CanUse can_use = find<CanUse>("CanUsePTACache");
    SetState begin = find<SetState>("InitPTACacheThreadLocal");
    SetState end = find<SetState>("UnInitPTACacheThreadLocal");
    AddAddress add_address = find<AddAddress>("AddTensorAddrToCachedList");
    SetKey set_key = find<SetKey>("SetPTACacheHashKey");
    FindExecutor find_executor = find<FindExecutor>("PTAFindExecCache");

    bool are_there() const { return can_use && begin && end && add_address && set_key && find_executor; }
};

const Functions& functions() {
    static const Functions once;
    return once;
}

// Adds the numbers of cores that the calling thread may use, by which phase 1 divides the work.
void add_limits_of_cores(CacheKey& key) {
    using GetLimit = int (*)(int kind, uint32_t* count);
    static const auto get = reinterpret_cast<GetLimit>(find_in_runtime("aclrtGetResInCurrentThread"));
    for (const int kind : {0, 1}) {  // the limit of matrix cores and that of vector cores
        uint32_t count = 0;
        if (get != nullptr && get(kind, &count) == 0) key.add(count);
    }
}

}  // namespace

CacheKey::CacheKey(const std::string& entry_point, Stream stream) {
    if (!functions().are_there() || !functions().can_use(entry_point.c_str())) return;
    functions().begin();
    add("torch_aclnn", sizeof("torch_aclnn"));  // apart from the keys of torch_npu's own operators
    add(entry_point.c_str(), entry_point.size() + 1);
    add(stream);
    add(at::globalContext().deterministicAlgorithms());
    if (c10_npu::GetDeterministicLevel != nullptr) add(c10_npu::GetDeterministicLevel());
    add_limits_of_cores(*this);
}

void CacheKey::add(const void* data, size_t size) {
    const auto* const bytes = static_cast<const char*>(data);
    bytes_.append(bytes, bytes + size);
}

// Adds what the tensor's handle is made of. The address goes beside the key.
void CacheKey::add(const at::Tensor& tensor) {
    add(tensor.defined());
    if (!tensor.defined()) return;
    add(tensor.scalar_type());
    add(tensor.sizes());
    add(tensor.strides());
    add(tensor.storage_offset());
    add(tensor.storage().nbytes());
    functions().add_address(tensor.storage().mutable_data());
}

void CacheKey::add(at::IntArrayRef values) {
    add(values.size());
    add(values.data(), values.size() * sizeof(int64_t));
}

aclOpExecutor* CacheKey::find_executor(uint64_t* workspace_size) const {
    functions().set_key(bytes_.data(), bytes_.size());
    return functions().find_executor(bytes_.data(), bytes_.size(), workspace_size);
}

void end_cache_key() {
    if (functions().end != nullptr) functions().end();
}

}  // namespace torch_aclnn
