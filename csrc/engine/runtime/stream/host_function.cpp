// A function of the program's own, in stream order. It runs where the stream's tasks run.

#include "engine/runtime/error/call.h"
#include "engine/runtime/stream/stream.h"

namespace torch_aclnn::host {
namespace {

class HostTask : public Task {
   public:
    HostTask(aclrtHostFunc function, void* argument) : function_(function), argument_(argument) {}
    const char* name() const override { return "aclrtLaunchHostFunc"; }
    void run() override { function_(argument_); }
    void finish() noexcept override { delete this; }

   private:
    aclrtHostFunc function_;
    void* argument_;
};

}  // namespace
}  // namespace torch_aclnn::host

using namespace torch_aclnn::host;

extern "C" aclError aclrtLaunchHostFunc(aclrtStream stream, aclrtHostFunc fn, void* args) {
    return traced(
        __func__,
        [&](const char* function) -> aclError {
            if (fn == nullptr) return fail_null(function, "fn");
            std::shared_ptr<Stream> where;
            if (aclError code = find_stream(function, stream, where)) return code;
            where->submit(*new HostTask(fn, args));
            return ACL_SUCCESS;
        },
        [&] { return text(stream); });
}
