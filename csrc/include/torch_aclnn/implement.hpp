// torch_aclnn/implement.h for C++17. A library has one or more of
//
//     TORCH_ACLNN_IMPLEMENT(aclnnTwice, "Tensor self, Tensor(a!) out") {
//         const torchAclnnTensor &self = *values[0].tensors, &out = *values[1].tensors;
//         ...
//     }
//
// and is named by TORCH_ACLNN_HOST_LIBRARIES. It links nothing of the engine. A std::exception is a refusal with its text.
#pragma once

#include <cstdio>
#include <exception>
#include <vector>

#include "torch_aclnn/implement.h"

namespace torch_aclnn {

// Hidden, for each library has a list of its own.
__attribute__((visibility("hidden"))) inline std::vector<torchAclnnImplementation>& implementations() {
    static std::vector<torchAclnnImplementation> once;
    return once;
}

template <void (*body)(const torchAclnnValue* values)>
int run_body(void*, const torchAclnnValue* values, int64_t, char* message, size_t capacity) noexcept {
    try {
        body(values);
        return 0;
    } catch (const std::exception& error) {
        std::snprintf(message, capacity, "%s", error.what());
    } catch (...) {
        std::snprintf(message, capacity, "an exception that is no std::exception");
    }
    return 1;
}

template <void (*body)(const torchAclnnValue* values)>
bool implement(const char* name, const char* signature, uint64_t data_types = 0, int replace = 0) {
    implementations().push_back({name, signature, data_types, run_body<body>, nullptr, replace});
    return true;
}

__attribute__((visibility("hidden"))) inline const torchAclnnLibrary* library() {
    static const torchAclnnLibrary once{TORCH_ACLNN_IMPLEMENT_MAJOR, TORCH_ACLNN_IMPLEMENT_MINOR, implementations().size(),
                                        implementations().data()};
    return &once;
}

}  // namespace torch_aclnn

extern "C" __attribute__((visibility("default"), used)) inline const torchAclnnLibrary* torchAclnnHostLibrary(void) {
    return torch_aclnn::library();
}

// After the signature come, optionally, the data types of the first tensor, as bits, and 1 to replace what has the name.
#define TORCH_ACLNN_IMPLEMENT(name, ...)                                                                          \
    static void name##Body(const torchAclnnValue* values);                                                        \
    [[maybe_unused]] static const bool name##IsListed = ::torch_aclnn::implement<name##Body>(#name, __VA_ARGS__); \
    static void name##Body([[maybe_unused]] const torchAclnnValue* values)
