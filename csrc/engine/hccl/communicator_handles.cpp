// The communicators of the process, by handle.

#include <algorithm>
#include <cstdio>

#include "engine/hccl/communicator.h"
#include "engine/runtime/device/process.h"
#include "engine/runtime/error/error.h"
#include "engine/runtime/handle_table.h"
#include "engine/runtime/text.h"

namespace torch_aclnn::host {
namespace {

// Never destroyed: calls still come while the process exits.
HandleTable<Communicator>& communicators() {
    static auto* const once = new HandleTable<Communicator>(HandleKind::communicator);
    return *once;
}

void print_leaks() {
    communicators().for_each([](const void* handle, const Communicator& communicator) {
        std::fprintf(stderr, "torch_aclnn: not destroyed before aclFinalize: HcclComm %p, communicator %s, rank %d of %d\n", handle,
                     communicator.membership().name.c_str(), communicator.rank(), communicator.size());
    });
}

[[maybe_unused]] const bool leaks_are_reported = [] {
    add_leak_report(print_leaks);
    return true;
}();

}  // namespace

std::shared_ptr<Communicator> find_communicator(HcclComm handle) {
    if (handle == nullptr) refuse(HCCL_E_PTR, "comm", "a communicator", "null");
    auto found = communicators().find(handle);
    if (found == nullptr) refuse(HCCL_E_PARA, "comm", "a live communicator", text(handle));
    return found;
}

std::vector<std::shared_ptr<Communicator>> find_communicators(const std::string& name) {
    std::vector<std::shared_ptr<Communicator>> found = communicators().all();
    found.erase(std::remove_if(found.begin(), found.end(), [&](const auto& one) { return one->membership().name != name; }), found.end());
    return found;
}

HcclComm add_communicator(std::shared_ptr<Communicator> communicator) {
    return communicators().add(std::move(communicator));
}

std::shared_ptr<Communicator> remove_communicator(HcclComm handle) {
    (void)find_communicator(handle);
    auto removed = communicators().remove(handle);
    // Its destructor would wait for a thread that is not there.
    if (removed != nullptr && removed->is_of_another_process()) (void)new std::shared_ptr<Communicator>(removed);
    return removed;
}

}  // namespace torch_aclnn::host
