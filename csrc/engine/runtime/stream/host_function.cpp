// A function of the program's own, in stream order. It runs where the stream's tasks run.

#include "engine/runtime/call/faultable.h"
#include "engine/runtime/stream/stream.h"

namespace torch_aclnn::host {
namespace {

class HostTask : public NamedTask {
   public:
    HostTask(aclrtHostFunc function, void* argument) : NamedTask("aclrtLaunchHostFunc"), function_(function), argument_(argument) {}
    void run() override { function_(argument_); }

   private:
    aclrtHostFunc function_;
    void* argument_;
};

}  // namespace
}  // namespace torch_aclnn::host

using namespace torch_aclnn::host;

extern "C" aclError aclrtLaunchHostFunc(aclrtStream stream, aclrtHostFunc fn, void* args) {
    return traced(can_fail(__func__), call_arguments().on(stream), [&] {
        require_pointer("fn", reinterpret_cast<const void*>(fn));
        find_stream(stream)->submit(std::make_unique<HostTask>(fn, args));
    });
}
