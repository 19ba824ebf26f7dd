// The overflow register, as torch_npu's GradScaler reads and clears it.
#include "engine/runtime/stream/overflow.h"
#include "engine/aten/by_name/call.h"

using namespace torch_aclnn::host;
using namespace torch_aclnn::host::aten;

namespace {

// The first of eight numbers is not zero after an overflow.
at::Tensor overflow_status() {
    at::Tensor status = at::zeros({8});
    if (overflow_register()) status[0].fill_(1);
    return status;
}

}  // namespace

RESULT_OPERATOR(NPUAllocFloatStatus, at::zeros({8}))
// The status goes into the input as well: torch_npu returns that.
OPERATOR(NPUGetFloatStatus) {
    call.input(0).copy_(overflow_status());
    call.write(0, overflow_status());
}
OPERATOR(NPUClearFloatStatus) {
    set_overflow_register(false);
    call.write(0, at::zeros({8}));
}
