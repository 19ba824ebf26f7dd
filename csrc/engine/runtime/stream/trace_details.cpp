// What a line of the trace says of a stream.
#include "engine/runtime/diagnostics/trace.h"
#include "engine/runtime/error/error.h"
#include "engine/runtime/stream/stream.h"

namespace torch_aclnn::host {

TraceDetails& TraceDetails::on(aclrtStream stream_handle) {
    arguments.add("stream", static_cast<const void*>(stream_handle));
    try {
        const auto found = find_stream(stream_handle);
        device = found->device();
        stream = found->id();
    } catch (const Error&) {
        // The call's own code says so.
    }
    return *this;
}
}  // namespace torch_aclnn::host
