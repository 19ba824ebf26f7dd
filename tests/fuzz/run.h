// Carries a call out, and ends the process where the engine does not do what the contract says.
#pragma once

#include "entry_points.h"

namespace fuzz {

void run(const Call& call);

// How many calls have come how far, for the driver to tell.
struct Counts {
    uint64_t calls, accepted, computed;
};
const Counts& counts();

}  // namespace fuzz
