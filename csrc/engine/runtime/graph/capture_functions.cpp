// The functions of a program that captures a graph.

#include "acl/acl_mdl.h"
#include "engine/runtime/call/faultable.h"
#include "engine/runtime/config/soc.h"
#include "engine/runtime/graph/capture.h"
#include "engine/runtime/graph/task_group.h"
#include "engine/runtime/stream/stream.h"

namespace torch_aclnn::host {

// The page of 8.5.0.alpha001 lists A2 and A3, and that of 9.2.0.beta1 950.
static void require_product_with_captures() {
    const Product product = config().product;
    if (product != Product::a2 && product != Product::a3 && product != Product::ascend950)
        refuse(ACL_ERROR_API_NOT_SUPPORT, "product", "A2, A3 or 950",
               config().soc_name + " of the " + traits_of(product).name + " products");
}
}  // namespace torch_aclnn::host

using namespace torch_aclnn::host;

extern "C" aclError aclmdlRICaptureBegin(aclrtStream stream, aclmdlRICaptureMode mode) {
    return traced(can_fail(__func__), call_arguments("mode", static_cast<int>(mode)).on(stream), [&] {
        require_product_with_captures();
        Capture::begin(find_usable_stream(stream), require_capture_mode(mode));
    });
}

extern "C" aclError aclmdlRICaptureEnd(aclrtStream stream, aclmdlRI* modelRI) {
    return traced(can_fail(__func__), call_arguments("modelRI", value_at(modelRI)).on(stream), [&] {
        require_pointer("modelRI", modelRI);
        *modelRI = nullptr;
        *modelRI = Capture::end(*find_stream(stream));
    });
}

// The call has no line in the trace, because torch_npu makes it all the time.
extern "C" aclError aclmdlRICaptureGetInfo(aclrtStream stream, aclmdlRICaptureStatus* status, aclmdlRI* modelRI) {
    return guarded(__func__, [&] {
        require_pointer("status", status);
        require_pointer("modelRI", modelRI);
        const auto capture = Capture::of(*find_stream(stream));
        *status = capture == nullptr ? ACL_MODEL_RI_CAPTURE_STATUS_NONE : capture->status();
        *modelRI = capture == nullptr ? nullptr : capture->graph();
    });
}

extern "C" aclError aclmdlRICaptureThreadExchangeMode(aclmdlRICaptureMode* mode) {
    return traced(can_fail(__func__), call_arguments("mode", value_at(mode)), [&] {
        require_pointer("mode", mode);
        *mode = exchange_thread_mode(require_capture_mode(*mode));
    });
}

extern "C" aclError aclmdlRICaptureTaskGrpBegin(aclrtStream stream) {
    return traced(can_fail(__func__), call_arguments().on(stream), [&] { Capture::begin_group(*find_stream(stream)); });
}

extern "C" aclError aclmdlRICaptureTaskGrpEnd(aclrtStream stream, aclrtTaskGrp* handle) {
    return traced(can_fail(__func__), call_arguments("handle", value_at(handle)).on(stream), [&] {
        require_pointer("handle", handle);
        *handle = Capture::end_group(*find_stream(stream));
    });
}

extern "C" aclError aclmdlRICaptureTaskUpdateBegin(aclrtStream stream, aclrtTaskGrp handle) {
    return traced(can_fail(__func__), call_arguments("handle", handle).on(stream),
                  [&] { TaskUpdate::begin(*find_usable_stream(stream), handle); });
}

extern "C" aclError aclmdlRICaptureTaskUpdateEnd(aclrtStream stream) {
    return traced(can_fail(__func__), call_arguments().on(stream), [&] { TaskUpdate::end(*find_stream(stream)); });
}
