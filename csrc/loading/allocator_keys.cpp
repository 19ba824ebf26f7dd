// Lets torch_npu load together with torch's CUDA build.
//
// Both register the options of their allocators as they are loaded, some by the same name, and torch throws at the second; thrown while a
// library is loaded, that ends the process. So the keys of the first are set aside while the second is loaded, and put back afterwards.
// All that torch does with the keys is to tell whether an option in PYTORCH_ALLOC_CONF is known.

#include <c10/core/AllocatorConfig.h>

#include <string>
#include <unordered_set>

using c10::CachingAllocator::AcceleratorAllocatorConfig;

static std::unordered_set<std::string>& keys_set_aside() {
    static std::unordered_set<std::string> keys;
    return keys;
}

extern "C" __attribute__((visibility("default"))) void torchAclnnSetAllocatorKeysAside() noexcept {
    keys_set_aside().swap(AcceleratorAllocatorConfig::getMutableKeys());
}

extern "C" __attribute__((visibility("default"))) void torchAclnnRestoreAllocatorKeys() noexcept {
    AcceleratorAllocatorConfig::getMutableKeys().merge(keys_set_aside());
    keys_set_aside().clear();
}
