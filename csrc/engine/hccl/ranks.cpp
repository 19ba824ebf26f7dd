#include "engine/hccl/ranks.h"

#include "engine/hccl/communicator.h"
#include "engine/runtime/text.h"

namespace torch_aclnn::host {
namespace {

std::shared_ptr<Communicator> communicator_of_this_device(const std::string& name) {
    const auto named = find_communicators(name);
    if (named.size() == 1) return named[0];
    int32_t device = -1;
    (void)aclrtGetDevice(&device);
    for (const auto& communicator : named)
        if (communicator->membership().device == device) return communicator;
    refuse(HCCL_E_PARA, "group", "the name of a communicator of this process and device", text('"', name, '"'));
}

}  // namespace

Ranks::Ranks(const std::string& name) {
    const auto communicator = communicator_of_this_device(name);
    communicator_ = communicator;
    size_ = communicator->size();
    rank_ = communicator->rank();
}

std::shared_ptr<const Windows> Ranks::windows() const {
    return windows_of(communicator_.lock().get());
}

void Ranks::launch(Operation operation, aclrtStream stream, std::function<void(Group& group)> body) const {
    const auto communicator = communicator_.lock();
    if (communicator == nullptr) refuse(HCCL_E_PARA, "group", "a communicator that lives until phase 2", "one that was destroyed");
    communicator->launch(std::move(operation), stream, std::move(body));
}

}  // namespace torch_aclnn::host
