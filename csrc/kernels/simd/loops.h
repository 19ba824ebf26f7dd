// The forms of a loop: one for each instruction set, and a scalar one, which the loops of separable/ have in common.
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
    TORCH_ACLNN_DECLARE_LANES(Type, name)
// Declares the forms of a loop that has no scalar form.
#define TORCH_ACLNN_DECLARE_LANES(Type, name) \
    namespace baseline {                      \
    Type name;                                \
    }                                         \
    namespace avx2 {                          \
    Type name;                                \
    }                                         \
    namespace avx512 {                        \
    Type name;                                \
    }

// The form of a loop that this process uses, as a pointer to a function; and that of an instruction set, of a loop that has no scalar form.
#define TORCH_ACLNN_LOOP(name) TORCH_ACLNN_FORM_OF(isa(), scalar::name, name)
#define TORCH_ACLNN_LANES(isa, name) TORCH_ACLNN_FORM_OF(isa, static_cast<decltype(&baseline::name)>(nullptr), name)
#if defined(TORCH_ACLNN_SCALAR_ONLY)
#define TORCH_ACLNN_FORM_OF(isa, scalar_form, name) form_for(isa, scalar_form, scalar_form)
#elif defined(__x86_64__)
#define TORCH_ACLNN_FORM_OF(isa, scalar_form, name) form_for(isa, scalar_form, baseline::name, avx2::name, avx512::name)
#else
#define TORCH_ACLNN_FORM_OF(isa, scalar_form, name) form_for(isa, scalar_form, baseline::name)
#endif
