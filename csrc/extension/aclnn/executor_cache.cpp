#include "extension/aclnn/executor_cache.h"

#include <ATen/Context.h>

// Exported by torch_npu, though not by every version: absent ones are null.
struct CacheParams {
    uint32_t cube_cores, vector_cores;
};
[[gnu::weak]] CacheParams GetCacheParams();
[[gnu::weak]] bool CheckAndInitFunc(const char* entry_point);
[[gnu::weak]] void AddCacheConfigParams(void* stream, const CacheParams& params);
[[gnu::weak]] void MemcpyToBufImpl(const void* data, size_t size);
[[gnu::weak]] void add_param_to_buf(const at::Tensor& tensor);
[[gnu::weak]] bool ExecuteCachedOp(void* stream, const char* entry_point, void* phase2);
namespace c10_npu {
[[gnu::weak]] uint32_t GetDeterministicLevel();
}

namespace torch_aclnn {
namespace {

bool is_exported() {
    return GetCacheParams != nullptr && CheckAndInitFunc != nullptr && AddCacheConfigParams != nullptr && MemcpyToBufImpl != nullptr &&
           add_param_to_buf != nullptr && ExecuteCachedOp != nullptr && c10_npu::GetDeterministicLevel != nullptr;
}

}  // namespace

bool begin_cache_key(const std::string& entry_point, Stream stream) {
    static const bool available = is_exported();
    if (!available || !CheckAndInitFunc(entry_point.c_str())) return false;
    add_to_cache_key(c10_npu::GetDeterministicLevel());
    add_to_cache_key(at::globalContext().deterministicAlgorithms());
    AddCacheConfigParams(stream, GetCacheParams());
    add_to_cache_key(entry_point.data(), entry_point.size());
    return true;
}

void add_to_cache_key(const void* data, size_t size) {
    MemcpyToBufImpl(data, size);
}

void add_to_cache_key(const at::Tensor& tensor) {
    add_param_to_buf(tensor);
}

void add_to_cache_key(at::IntArrayRef values) {
    add_to_cache_key(values.data(), values.size() * sizeof(int64_t));
    add_to_cache_key(values.size());
}

bool run_cached(const std::string& entry_point, Phase2 phase2, Stream stream) {
    return ExecuteCachedOp(stream, entry_point.c_str(), reinterpret_cast<void*>(phase2));
}

void end_cache_key() {
    // No documented interface, but torch_npu calls it around each of its operators, where it exists.
    static const auto end = reinterpret_cast<void (*)()>(find_operator("UnInitPTACacheThreadLocal"));
    if (end != nullptr) end();
}

}  // namespace torch_aclnn
