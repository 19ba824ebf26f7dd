// What keeps a stream busy.
#include <chrono>
#include <thread>

#include "engine/aten/adapter/adapter.h"

#define ATEN_FAMILY "waiting"
using namespace torch_aclnn::host::aten;

namespace torch_aclnn::host::aten::kind {
struct Cycles : Exactly<1> {
    static at::IntArrayRef read(const char* name, const aclIntArray* array) {
        const at::IntArrayRef values = Exactly<1>::read(name, array);
        require_between(name, values[0], 0, 10'000'000'000);
        return values;
    }
};
}  // namespace torch_aclnn::host::aten::kind

// At a thousand million cycles a second. torch_npu passes the number as an array of one.
ATEN_ENTRY(aclnnSleep, ANY, (Cycles, cycles)) {
    std::this_thread::sleep_for(std::chrono::nanoseconds(cycles[0]));
}
