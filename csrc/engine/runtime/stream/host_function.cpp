// A function of the program's own, in stream order. It runs where the stream's tasks run.

#include "engine/runtime/call/faultable.h"
#include "engine/runtime/call/traced.h"
#include "engine/runtime/error/guarded.h"
#include "engine/runtime/stream/stream.h"
#include "engine/runtime/stream/task.h"

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
        can_fail(__func__),
        [&] {
            require_pointer("fn", reinterpret_cast<const void*>(fn));
            find_stream(stream)->submit(std::make_unique<HostTask>(fn, args));
        },
        [&] { return call_arguments().on(stream); });
}
