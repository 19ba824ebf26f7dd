// The communicators of the process, by handle.

#include <algorithm>

#include "engine/hccl/communicator.h"
#include "engine/hccl/counts.h"
#include "engine/runtime/diagnostics/leaks.h"
#include "engine/runtime/handle_table.h"
#include "engine/runtime/lasting.h"
#include "engine/runtime/text.h"

namespace torch_aclnn::host {

constexpr auto& communicators = lasting<HandleTable<Communicator>, HandleKind::communicator>;

static void list_leaks(LeakList& list) {
    communicators().for_each([&](const void* handle, const Communicator& communicator) {
        const std::string description = text("HcclComm ", handle, ", communicator ", communicator.membership().name, ", rank ",
                                             communicator.rank(), " of ", communicator.size());
        list.add("destroyed", description, description);
    });
}

const bool leaks_are_listed = (add_leak_report(list_leaks), true);

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
    // In a forked process the destructor would wait for a thread that does not exist.
    if (removed != nullptr && removed->is_of_another_process()) (void)new std::shared_ptr<Communicator>(removed);
    return removed;
}

TraceDetails on_communicator(TraceDetails details, HcclComm comm, aclrtStream stream) {
    details.add("comm", comm).on(stream);
    if (const auto found = communicators().find(comm))
        details.add("commName", found->membership().name).add("ranks", found->size()).add("bytes", last_counted_bytes());
    return details;
}

}  // namespace torch_aclnn::host
