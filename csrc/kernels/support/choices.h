// The environment variables that choose what the kernels run, and the values they take; header only, for those who check them and run none.
#pragma once

#include <cstddef>
#include <string>

namespace torch_aclnn::kernels {

constexpr const char* kIsaVariable = "TORCH_ACLNN_ISA";
// The names are in the order of Isa.
constexpr const char* kIsaNames[] = {"scalar", "baseline", "avx2", "avx512"};

constexpr const char* kLoopVariable = "TORCH_ACLNN_LOOP";
// The names are in the order of the table in kernels/separable/choose.cpp.
constexpr const char* kLoopNames[] = {"full_width", "transposed", "volumes", "channels", "planes", "rows", "scalar"};

constexpr const char* kAuto = "auto";

template <size_t N>
bool is_choice(const std::string& value, const char* const (&names)[N]) {
    for (const char* name : names)
        if (value == name) return true;
    return value == kAuto;
}

// Returns "auto, a, b or c", for a message.
template <size_t N>
std::string choices(const char* const (&names)[N]) {
    std::string text = kAuto;
    for (size_t i = 0; i < N; ++i) text += std::string(i + 1 < N ? ", " : " or ") + names[i];
    return text;
}

}  // namespace torch_aclnn::kernels
