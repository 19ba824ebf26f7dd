// The fuzzer's target: both phases of the backward operators' entry points, compared with their contract. See CONTRIBUTING.md.
#include <cstdlib>

#include "decode.h"
#include "run.h"

// A size that no machine has is refused by the allocator, as without AddressSanitizer.
extern "C" __attribute__((visibility("default"), used)) const char* __asan_default_options() {
    return "allocator_may_return_null=1:malloc_context_size=8";
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    static const int settings = setenv("TORCH_ACLNN_HOST_DEVICES", "2", 1) + setenv("TORCH_ACLNN_HOST_THREADS", "1", 1);
    (void)settings;
    fuzz::Bytes bytes(data, size);
    fuzz::run(fuzz::decode(bytes));
    return 0;
}
