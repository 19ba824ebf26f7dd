// The ranks of a communicator, and their windows. A window is shared with other processes as aclrtMalloc's memory is, and its keys travel
// as messages between the ranks.
#include "engine/hccl/ranks.h"

#include "engine/hccl/communicator.h"
#include "engine/hccl/guarded_hccl.h"
#include "engine/runtime/handle_table.h"
#include "engine/runtime/lasting.h"
#include "engine/runtime/memory/device_memory.h"
#include "hccl/hccl.h"

namespace torch_aclnn::host {
namespace {

constexpr size_t kPage = 4096;

// What a rank tells others of its window, which begins within the memory that the key stands for.
struct Invitation {
    char key[65];
    uint64_t offset, bytes;
};

void require_success(int code, const char* what) {
    if (code != 0) throw Error(HCCL_E_RUNTIME, text(what, " failed with ", code));
}

struct Messages {
    explicit Messages(size_t bytes) {
        require_success(aclrtMalloc(&data, bytes, ACL_MEM_MALLOC_HUGE_FIRST), "aclrtMalloc of messages about windows");
        require_success(aclrtCreateStream(&stream), "aclrtCreateStream");
    }
    Messages(const Messages&) = delete;
    ~Messages() {
        if (stream != nullptr) (void)aclrtDestroyStream(stream);
        (void)aclrtFree(data);
    }
    void* data = nullptr;
    aclrtStream stream = nullptr;
};

class RegisteredWindow {
   public:
    RegisteredWindow(const std::shared_ptr<Communicator>& communicator, Window own) : communicator_(communicator) {
        windows_->own = own;
        const size_t before = reinterpret_cast<uintptr_t>(own.data) % kPage;
        own_ = {"", before, own.bytes};
        require_success(aclrtIpcMemGetExportKey(own.data - before, own.bytes + before, own_.key, sizeof own_.key, 1),
                        "sharing the window's memory");
    }
    RegisteredWindow(const RegisteredWindow&) = delete;
    ~RegisteredWindow() {
        for (const std::string& key : imported_) (void)aclrtIpcMemClose(key.c_str());
        (void)aclrtIpcMemClose(own_.key);
    }

    bool is_of(const Communicator* communicator) const { return communicator != nullptr && communicator_.lock().get() == communicator; }
    std::shared_ptr<const Windows> windows() const { return windows_; }

    void exchange(HcclComm comm, const std::vector<uint32_t>& peers) {
        std::vector<Invitation> invitations(peers.size() + 1, own_);
        const size_t bytes = invitations.size() * sizeof(Invitation);
        const Messages messages(bytes);
        require_success(aclrtMemcpy(messages.data, bytes, invitations.data(), bytes, ACL_MEMCPY_HOST_TO_DEVICE), "aclrtMemcpy");
        std::vector<HcclSendRecvItem> items;
        auto* const first = static_cast<Invitation*>(messages.data);
        for (size_t i = 0; i < peers.size(); ++i) {
            items.push_back({HCCL_SEND, first, sizeof(Invitation), HCCL_DATA_TYPE_INT8, peers[i]});
            items.push_back({HCCL_RECV, first + 1 + i, sizeof(Invitation), HCCL_DATA_TYPE_INT8, peers[i]});
        }
        require_success(HcclBatchSendRecv(items.data(), static_cast<uint32_t>(items.size()), comm, messages.stream), "HcclBatchSendRecv");
        require_success(aclrtSynchronizeStream(messages.stream), "the exchange of windows");
        require_success(aclrtMemcpy(invitations.data(), bytes, messages.data, bytes, ACL_MEMCPY_DEVICE_TO_HOST), "aclrtMemcpy");
        for (size_t i = 0; i < peers.size(); ++i) accept(static_cast<int>(peers[i]), invitations[i + 1]);
    }

   private:
    void accept(int rank, const Invitation& invitation) {
        void* memory = nullptr;
        require_success(aclrtIpcMemImportByKey(&memory, invitation.key, 0), "opening a window");
        imported_.emplace_back(invitation.key);
        windows_->others[rank] = {static_cast<char*>(memory) + invitation.offset, invitation.bytes};
    }

    const std::weak_ptr<Communicator> communicator_;
    Invitation own_{};
    const std::shared_ptr<Windows> windows_ = std::make_shared<Windows>();
    std::vector<std::string> imported_;
};

constexpr auto& registered_windows = lasting<HandleTable<RegisteredWindow>, HandleKind::window>;

std::shared_ptr<RegisteredWindow> find_window(const char* parameter, const void* handle, const Communicator& communicator) {
    const auto window = registered_windows().find(handle);
    if (window == nullptr || !window->is_of(&communicator)) refuse(HCCL_E_PARA, parameter, "a window of the communicator", text(handle));
    return window;
}

std::vector<uint32_t> peers_of(const Communicator& communicator, const uint32_t* ranks, uint32_t count) {
    require_hccl_pointer("peerRanks", ranks);
    for (uint32_t i = 0; i < count; ++i)
        if (ranks[i] >= static_cast<uint32_t>(communicator.size()) || ranks[i] == static_cast<uint32_t>(communicator.rank()))
            refuse(HCCL_E_PARA, text("peerRanks[", i, "]"), text("another rank of ", communicator.size()), std::to_string(ranks[i]));
    return {ranks, ranks + count};
}

// HCCL_E_PARA if the communicator has none.
std::shared_ptr<const Windows> windows_of(const Communicator* communicator) {
    for (const auto& window : registered_windows().all())
        if (window->is_of(communicator)) return window->windows();
    refuse(HCCL_E_PARA, "group", "a communicator with windows, of HcclCommRegister", "one without");
}

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

using namespace torch_aclnn::host;

extern "C" HcclResult HcclCommRegister(HcclComm comm, void* addr, uint64_t size, void** handle, uint32_t flag) {
    return hccl_traced(__func__, call_arguments("comm", comm, "addr", addr, "size", size, "flag", flag), [&] {
        const auto communicator = find_communicator(comm);
        require_hccl_pointer("handle", handle);
        if (size == 0) refuse(HCCL_E_PARA, "size", "at least 1", "0");
        if (flag != 0) refuse(HCCL_E_PARA, "flag", "0", std::to_string(flag));
        require_device_memory({{"addr", addr, size}});
        for (const auto& window : registered_windows().all())
            if (window->is_of(communicator.get())) refuse(HCCL_E_PARA, "comm", "a communicator without a window", "one with its window");
        *handle = registered_windows().add(std::make_shared<RegisteredWindow>(communicator, Window{static_cast<char*>(addr), size}));
    });
}

extern "C" HcclResult HcclCommExchangeMem(HcclComm comm, void* windowHandle, uint32_t* peerRanks, uint32_t peerRankNum) {
    return hccl_traced(__func__, call_arguments("comm", comm, "windowHandle", windowHandle, "peerRankNum", peerRankNum), [&] {
        const auto communicator = find_communicator(comm);
        const auto window = find_window("windowHandle", windowHandle, *communicator);
        const auto peers = peers_of(*communicator, peerRanks, peerRankNum);
        if (!peers.empty()) window->exchange(comm, peers);
    });
}

extern "C" HcclResult HcclCommDeregister(HcclComm comm, void* handle) {
    return hccl_traced(__func__, call_arguments("comm", comm, "handle", handle), [&] {
        (void)find_window("handle", handle, *find_communicator(comm));
        (void)registered_windows().remove(handle);
    });
}
