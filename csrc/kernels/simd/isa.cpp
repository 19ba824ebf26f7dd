#include "kernels/simd/isa.h"

#include <algorithm>
#include <cstdlib>
#include <stdexcept>

#include "kernels/support/choices.h"

namespace torch_aclnn::kernels {

static bool machine_has(Isa isa) {
#if defined(__x86_64__) && !defined(TORCH_ACLNN_SCALAR_ONLY)
    if (isa == Isa::avx2) return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("f16c");
    if (isa == Isa::avx512)
        return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
               __builtin_cpu_supports("avx512vl");
    return true;
#else
    return isa <= Isa::baseline;
#endif
}

static Isa best() {
    for (Isa isa : {Isa::avx512, Isa::avx2})
        if (machine_has(isa)) return isa;
    return Isa::baseline;
}

// What the environment variable says; empty: the machine decides.
static std::string asked_for() {
    const char* value = std::getenv(kIsaVariable);
    return value == nullptr || std::string(value) == kAuto ? "" : value;
}

static Isa choose() {
    const std::string asked = asked_for();
    if (asked.empty()) return best();
    for (Isa isa : {Isa::scalar, Isa::baseline, Isa::avx2, Isa::avx512}) {
        if (asked != kIsaNames[static_cast<int>(isa)]) continue;
        if (machine_has(isa)) return isa;
        throw std::invalid_argument(std::string(kIsaVariable) + ": expected an instruction set of this machine, got '" + asked + "'");
    }
    throw std::invalid_argument(std::string(kIsaVariable) + ": expected " + choices(kIsaNames) + ", got '" + asked + "'");
}

Isa isa() {
    static const Isa chosen = choose();
    return chosen;
}

Isa isa_up_to(Isa widest) {
    static const bool is_named = !asked_for().empty();
    return is_named ? isa() : std::min(isa(), widest);
}

const char* isa_name() {
    return kIsaNames[static_cast<int>(isa())];
}

}  // namespace torch_aclnn::kernels
