// The operator library's cache of executors: a call with the shapes, dtypes, layouts and numbers of an earlier one needs no phase 1. The
// library keeps the executors, each under a key that its caller makes, and puts the addresses of the call at hand into the one it finds.
#pragma once

#include <c10/util/SmallVector.h>

#include "extension/aclnn/handles.h"

namespace torch_aclnn {

// The key of one call, on the calling thread. Tensors are added in the order in which phase 1 takes them.
class CacheKey {
   public:
    CacheKey(const std::string& entry_point, Stream stream);
    CacheKey(const CacheKey&) = delete;
    CacheKey& operator=(const CacheKey&) = delete;

    // Returns false if the library has no cache for the entry point.
    explicit operator bool() const { return !bytes_.empty(); }

    void add(const void* data, size_t size);
    void add(const at::Tensor& tensor);
    void add(at::IntArrayRef values);
    void add(Scalar scalar) { add(scalar.value); }
    template <class Value, std::enable_if_t<std::is_scalar_v<Value>, int> = 0>
    void add(Value value) {
        add(&value, sizeof(value));
    }

    // Returns the executor that the library has under the key, with what its workspace takes. It is null if it has none; then the library
    // keeps the one that phase 1 makes next.
    aclOpExecutor* find_executor(uint64_t* workspace_size) const;

   private:
    c10::SmallVector<char, 512> bytes_;
};

// Takes the key from the calling thread, so that no other operator's executor is kept under it.
void end_cache_key();

}  // namespace torch_aclnn
