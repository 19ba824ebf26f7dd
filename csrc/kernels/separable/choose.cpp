#include "kernels/separable/choose.h"

#include <cstdlib>
#include <iterator>
#include <stdexcept>
#include <string_view>

#include "kernels/separable/strategies.h"
#include "kernels/simd/isa.h"
#include "kernels/support/choices.h"

namespace torch_aclnn::kernels {
namespace {

struct Strategy {
    const char* name;
    bool (*can)(const Problem&);
    bool (*pays)(const Problem&);
    void (*run)(const Problem&, int thread_count);
};

bool always(const Problem&) {
    return true;
}

constexpr const char* kScalar = "scalar";

// The strategies are asked in this order. Builds for sanitizers have no lanes.
constexpr Strategy kStrategies[] = {
#if !defined(TORCH_ACLNN_SCALAR_ONLY)
    {"full_width", can_full_width, pays_full_width, run_full_width},
    {"transposed", can_transposed, pays_transposed, run_transposed},
    {"volumes", can_volumes, always, run_volumes},
    {"channels", can_channels, pays_channels, run_channels},
    {"planes", can_planes, always, run_planes},
    {"rows", can_rows, always, run_rows},
#endif
    {kScalar, always, always, run_scalar},
};

#if !defined(TORCH_ACLNN_SCALAR_ONLY)
constexpr bool names_are_those_of_the_table() {
    if (std::size(kLoopNames) != std::size(kStrategies)) return false;
    for (size_t i = 0; i < std::size(kStrategies); ++i)
        if (std::string_view(kStrategies[i].name) != kLoopNames[i]) return false;
    return true;
}
static_assert(names_are_those_of_the_table(), "kLoopNames: expected the names of the table in its order");
#endif

thread_local const char* last = "none";

// The name that the environment variable has; empty: the table decides.
std::string named_loop() {
    const char* value = std::getenv(kLoopVariable);
    return value == nullptr || std::strcmp(value, kAuto) == 0 ? "" : value;
}

void run(const Strategy& strategy, const Problem& problem, int thread_count) {
    strategy.run(problem, thread_count);
    last = strategy.name;
}

}  // namespace

void run_best(const Problem& problem, int thread_count) {
    // There is no lane to be filled where the scalar form is asked for.
    static const std::string name = isa() == Isa::scalar ? kScalar : named_loop();
    if (!name.empty())
        for (const Strategy& strategy : kStrategies)
            if (name == strategy.name && strategy.can(problem)) return run(strategy, problem, thread_count);
    for (const Strategy& strategy : kStrategies)
        if (strategy.can(problem) && strategy.pays(problem)) return run(strategy, problem, thread_count);
}

const char* last_loop() {
    return last;
}

void check_named_loop() {
    const std::string name = named_loop();
    if (name.empty() || is_choice(name, kLoopNames)) return;
    throw std::invalid_argument(std::string(kLoopVariable) + ": expected " + choices(kLoopNames) + ", got '" + name + "'");
}

}  // namespace torch_aclnn::kernels
