// What keeps a stream busy.
#include <chrono>
#include <thread>

#include "engine/aten/adapter/adapter.h"

#define ATEN_FAMILY "waiting"
using namespace torch_aclnn::host::aten;

namespace torch_aclnn::host::aten::kind {
using Cycles = Between<int64_t, 0, 10'000'000'000>;
}  // namespace torch_aclnn::host::aten::kind

// At a thousand million cycles a second.
ATEN_ENTRY(aclnnSleep, ANY, (Cycles, cycles)) {
    std::this_thread::sleep_for(std::chrono::nanoseconds(cycles));
}
