// The life of communicators.

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "engine/hccl/communicator.h"
#include "engine/hccl/guarded_hccl.h"
#include "engine/runtime/device/device.h"
#include "hccl/hccl.h"

namespace torch_aclnn::host {
namespace {

constexpr uint32_t kMaxRanks = 65536;
constexpr uint64_t kNoMember = 0xFFFFFFFF;  // documented: the caller belongs to no communicator of the call

// Reads the size that the structure begins with. An older one is shorter than ours.
size_t size_of(const HcclCommConfig& config) {
    size_t size = 0;
    std::memcpy(&size, config.reserved, sizeof size);
    return size;
}

void apply(const HcclCommConfig* config, Membership& membership) {
    if (config == nullptr) return;
    const size_t size = size_of(*config);
    if (size < offsetof(HcclCommConfig, hcclCommName))
        refuse(HCCL_E_PARA, "config", "a structure that HcclCommConfigInit has been called for", text("one of ", size, " bytes"));
    if (size >= offsetof(HcclCommConfig, hcclUdi) && config->hcclCommName[0] != '\0')
        membership.name.assign(config->hcclCommName, strnlen(config->hcclCommName, COMM_NAME_MAX_LENGTH - 1));
    if (size >= offsetof(HcclCommConfig, hcclExecTimeOut) + sizeof(int32_t) && config->hcclExecTimeOut > 0)
        membership.timeout = std::chrono::seconds(config->hcclExecTimeOut);
}

// Settings of the environment for collectives, which are read once.
struct CollectiveSettings {
    std::chrono::seconds connect_timeout;  // HCCL_CONNECT_TIMEOUT
    std::chrono::seconds exec_timeout;     // HCCL_EXEC_TIMEOUT
};

constexpr long kMaxSeconds = 1000000;

std::string variable(const char* name) {
    const char* const value = std::getenv(name);
    return value != nullptr ? value : "";
}

std::chrono::seconds read_seconds(const char* name, long otherwise) {
    const std::string value = variable(name);
    if (value.empty()) return std::chrono::seconds(otherwise);
    char* end = nullptr;
    errno = 0;
    const long seconds = std::strtol(value.c_str(), &end, 10);
    if (errno != 0 || *end != '\0' || seconds < 0 || seconds > kMaxSeconds) refuse(HCCL_E_PARA, name, "a number of seconds", value);
    return std::chrono::seconds(seconds != 0 ? seconds : kMaxSeconds);  // documented: 0 is no limit
}

// HCCL_E_PARA for a variable that cannot be understood.
const CollectiveSettings& collective_settings() {
    static const CollectiveSettings settings{read_seconds("HCCL_CONNECT_TIMEOUT", 120), read_seconds("HCCL_EXEC_TIMEOUT", 1800)};
    return settings;
}

void require_rank(const char* parameter, uint32_t rank, uint32_t ranks) {
    if (rank >= ranks) refuse(HCCL_E_PARA, parameter, text("less than ", ranks), std::to_string(rank));
}

// The devices are those of one process, each of them once.
void require_devices(const int32_t* devices, uint32_t count) {
    for (uint32_t i = 0; i < count; ++i) {
        if (devices[i] < 0 || devices[i] >= device_count())
            refuse(HCCL_E_PARA, "devices", text("devices in 0..", device_count() - 1), std::to_string(devices[i]));
        if (std::find(devices, devices + i, devices[i]) != devices + i)
            refuse(HCCL_E_PARA, "devices", "each device once", text(devices[i], " twice"));
    }
}

Membership membership_of(const std::string& address, uint32_t rank, uint32_t ranks, int32_t device, const HcclCommConfig* config) {
    if (ranks == 0 || ranks > kMaxRanks) refuse(HCCL_E_PARA, "nRanks", text("1 to ", kMaxRanks), std::to_string(ranks));
    require_rank("rank", rank, ranks);
    const auto& settings = collective_settings();
    Membership membership{address,
                          "",
                          static_cast<int>(rank),
                          static_cast<int>(ranks),
                          device,
                          settings.connect_timeout,
                          settings.exec_timeout,
                          host::config().compare_ranks && !host::config().rank_alone};
    membership.name = address.substr(address.rfind(' ') + 1);
    apply(config, membership);
    return membership;
}

int32_t device_of_the_thread() {
    int32_t device = 0;
    if (aclrtGetDevice(&device) != ACL_SUCCESS) throw Error(HCCL_E_RUNTIME, "the calling thread has no device; call aclrtSetDevice first");
    return device;
}

HcclComm connected(const Membership& membership) {
    return add_communicator(std::make_shared<Communicator>(membership, transport().connect(membership)));
}

std::string address_in(const HcclRootInfo& info) {
    const std::string address(info.internal, strnlen(info.internal, sizeof info.internal));
    if (address.empty() || address.size() == sizeof info.internal)
        refuse(HCCL_E_PARA, "rootInfo", "what HcclGetRootInfo wrote on the root", "something else");
    return address;
}

void initialise(uint32_t ranks, const HcclRootInfo* info, uint32_t rank, const HcclCommConfig* config, HcclComm* comm) {
    require_hccl_pointer("rootInfo", info);
    require_hccl_pointer("comm", comm);
    *comm = connected(membership_of(address_in(*info), rank, ranks, device_of_the_thread(), config));
}

HcclComm connected_by_table(const char* path, uint32_t rank, const HcclCommConfig* config) {
    const Meeting meeting = transport().meeting_of_table(path);
    const Membership membership = membership_of(meeting.address, rank, meeting.ranks, device_of_the_thread(), config);
    if (rank == 0) transport().listen_at(meeting.address);
    return connected(membership);
}

}  // namespace
}  // namespace torch_aclnn::host

using namespace torch_aclnn::host;

extern "C" HcclResult HcclGetRootInfo(HcclRootInfo* rootInfo) {
    return hccl_traced(__func__, call_arguments(), [&] {
        require_hccl_pointer("rootInfo", rootInfo);
        const std::string address = transport().listen();
        std::memset(rootInfo, 0, sizeof *rootInfo);
        if (address.size() >= sizeof rootInfo->internal) throw Error(HCCL_E_INTERNAL, "an address too long: " + address);
        std::memcpy(rootInfo->internal, address.data(), address.size());
    });
}

extern "C" HcclResult HcclCommInitRootInfo(uint32_t nRanks, const HcclRootInfo* rootInfo, uint32_t rank, HcclComm* comm) {
    return hccl_traced(__func__, call_arguments("nRanks", nRanks, "rank", rank, "comm", value_at(comm)),
                       [&] { initialise(nRanks, rootInfo, rank, nullptr, comm); });
}

extern "C" HcclResult HcclCommInitRootInfoConfig(uint32_t nRanks, const HcclRootInfo* rootInfo, uint32_t rank, const HcclCommConfig* config,
                                                 HcclComm* comm) {
    return hccl_traced(__func__, call_arguments("nRanks", nRanks, "rank", rank, "comm", value_at(comm)), [&] {
        require_hccl_pointer("config", config);
        initialise(nRanks, rootInfo, rank, config, comm);
    });
}

extern "C" HcclResult HcclCommInitClusterInfoConfig(const char* clusterInfo, uint32_t rank, HcclCommConfig* config, HcclComm* comm) {
    return hccl_traced(__func__, call_arguments("clusterInfo", clusterInfo, "rank", rank, "comm", value_at(comm)), [&] {
        require_hccl_pointer("clusterInfo", clusterInfo);
        require_hccl_pointer("config", config);
        require_hccl_pointer("comm", comm);
        try {
            *comm = connected_by_table(clusterInfo, rank, config);
        } catch (const Error& error) {
            // torch_npu goes on without the table and does not say why.
            std::fprintf(stderr, "torch_aclnn: HcclCommInitClusterInfoConfig: %s\n", error.what());
            throw;
        }
    });
}

extern "C" HcclResult HcclCommInitAll(uint32_t ndev, int32_t* devices, HcclComm* comms) {
    return hccl_traced(__func__, call_arguments("ndev", ndev), [&] {
        require_hccl_pointer("devices", devices);
        require_hccl_pointer("comms", comms);
        require_devices(devices, ndev);
        const std::string address = transport().listen();
        std::vector<Membership> memberships;
        for (uint32_t rank = 0; rank < ndev; ++rank) memberships.push_back(membership_of(address, rank, ndev, devices[rank], nullptr));
        auto groups = transport().connect_all(memberships);
        for (uint32_t rank = 0; rank < ndev; ++rank)
            comms[rank] = add_communicator(std::make_shared<Communicator>(memberships[rank], std::move(groups[rank])));
    });
}

extern "C" HcclResult HcclCreateSubCommConfig(HcclComm* comm, uint32_t rankNum, uint32_t* rankIds, uint64_t subCommId,
                                              uint32_t subCommRankId, HcclCommConfig* config, HcclComm* subComm) {
    return hccl_traced(
        __func__, call_arguments("rankNum", rankNum, "subCommId", subCommId, "subCommRankId", subCommRankId, "subComm", value_at(subComm)),
        [&] {
            require_hccl_pointer("comm", comm);
            require_hccl_pointer("subComm", subComm);
            *subComm = nullptr;
            if (rankIds == nullptr && subCommId == kNoMember) return;
            require_hccl_pointer("rankIds", rankIds);
            const auto parent = find_communicator(*comm);
            const auto ranks = static_cast<uint32_t>(parent->size());
            for (uint32_t i = 0; i < rankNum; ++i) require_rank("rankIds", rankIds[i], ranks);
            require_rank("subCommRankId", subCommRankId, rankNum);
            if (rankIds[subCommRankId] != static_cast<uint32_t>(parent->rank()))
                refuse(HCCL_E_PARA, "rankIds", text("the caller's rank ", parent->rank(), " at position ", subCommRankId),
                       std::to_string(rankIds[subCommRankId]));
            const std::string address = parent->membership().address + parent->next_suffix(subCommId);
            *subComm = connected(membership_of(address, subCommRankId, rankNum, device_of_the_thread(), config));
        });
}

extern "C" HcclResult HcclCommDestroy(HcclComm comm) {
    return hccl_traced(__func__, call_arguments("comm", comm), [&] { (void)remove_communicator(comm); });
}

extern "C" HcclResult HcclGetRankSize(HcclComm comm, uint32_t* rankSize) {
    return hccl_guarded(__func__, [&] {
        require_hccl_pointer("rankSize", rankSize);
        *rankSize = static_cast<uint32_t>(find_communicator(comm)->size());
    });
}

extern "C" HcclResult HcclGetRankId(HcclComm comm, uint32_t* rank) {
    return hccl_guarded(__func__, [&] {
        require_hccl_pointer("rank", rank);
        *rank = static_cast<uint32_t>(find_communicator(comm)->rank());
    });
}

extern "C" HcclResult HcclGetCommName(HcclComm comm, char* commName) {
    return hccl_guarded(__func__, [&] {
        require_hccl_pointer("commName", commName);
        const std::string name = find_communicator(comm)->membership().name.substr(0, COMM_NAME_MAX_LENGTH - 1);
        std::memcpy(commName, name.c_str(), name.size() + 1);
    });
}

// The message of what failed is then the calling thread's recent one: torch_npu asks for it.
extern "C" HcclResult HcclGetCommAsyncError(HcclComm comm, HcclResult* asyncError) {
    return hccl_guarded(__func__, [&] {
        require_hccl_pointer("asyncError", asyncError);
        const auto failure = find_communicator(comm)->unreported_failure();
        *asyncError = !failure ? HCCL_SUCCESS : hccl_guarded(failure->function(), [&] { throw *failure; });
    });
}
