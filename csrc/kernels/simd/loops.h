// The forms of a loop: the scalar one, in an operator's scalar.cpp, and one for each instruction set, from its vector.cpp.
#pragma once

#include "kernels/simd/isa.h"

namespace torch_aclnn::kernels {

// The form for an instruction set; the forms are given in the order of Isa.
template <class Function, class... Forms>
Function* form_for(Isa isa, Function* scalar, Forms... vector) {
    Function* const forms[] = {scalar, vector...};
    return forms[static_cast<int>(isa)];
}

}  // namespace torch_aclnn::kernels

// Declares all forms of the loop `name`, a function of type `Type`. Used in torch_aclnn::kernels.
#define TORCH_ACLNN_DECLARE_LOOP(Type, name) \
    namespace scalar {                       \
    Type name;                               \
    }                                        \
    namespace baseline {                     \
    Type name;                               \
    }                                        \
    namespace avx2 {                         \
    Type name;                               \
    }                                        \
    namespace avx512 {                       \
    Type name;                               \
    }

// A form of a loop, as a pointer to a function: that of the instruction set, and that which this process uses.
#define TORCH_ACLNN_LOOP(name) TORCH_ACLNN_LOOP_FOR(isa(), name)
#if defined(TORCH_ACLNN_SCALAR_ONLY)
#define TORCH_ACLNN_LOOP_FOR(isa, name) form_for(isa, scalar::name, scalar::name)
#elif defined(__x86_64__)
#define TORCH_ACLNN_LOOP_FOR(isa, name) form_for(isa, scalar::name, baseline::name, avx2::name, avx512::name)
#else
#define TORCH_ACLNN_LOOP_FOR(isa, name) form_for(isa, scalar::name, baseline::name)
#endif
