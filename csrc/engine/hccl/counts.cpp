#include "engine/hccl/counts.h"

#include <mutex>

#include "engine/runtime/diagnostics/records.h"
#include "engine/runtime/error/guarded.h"
#include "engine/runtime/lasting.h"
#include "torch_aclnn/collectives.h"

namespace torch_aclnn::host {
namespace {

struct Count {
    uint64_t calls = 0, bytes = 0;
};

struct Counted {
    uint32_t ranks;
    std::map<OperationKind, Count> operations;
};

struct Communication {
    std::mutex mutex;
    std::map<std::string, Counted> communicators;
};

constexpr auto& communication = lasting<Communication>;

thread_local uint64_t last_bytes = 0;

uint64_t bytes_of(const Operation& operation) {
    uint64_t read = 0, written = 0;
    for (const auto& buffer : operation.buffers) (buffer.only_read ? read : written) += buffer.bytes;
    return std::max(read, written);
}

std::vector<torchAclnnCollective> records() {
    std::vector<torchAclnnCollective> all;
    for (const auto& [communicator, counted] : communication().communicators) {
        const auto add = [&, name = communicator.c_str(), ranks = counted.ranks](const char* function, const Count& count) {
            all.push_back({sizeof(torchAclnnCollective), function, name, ranks, count.calls, count.bytes});
        };
        if (counted.operations.empty()) add("", {});
        for (const auto& [kind, count] : counted.operations) add(name_of(kind), count);
    }
    return all;
}

}  // namespace

void count_communicator(const std::string& name, int ranks) {
    const std::lock_guard<std::mutex> lock(communication().mutex);
    communication().communicators.try_emplace(name).first->second.ranks = static_cast<uint32_t>(ranks);
}

void count_operation(const std::string& communicator, const Operation& operation) {
    const std::lock_guard<std::mutex> lock(communication().mutex);
    auto& count = communication().communicators.at(communicator).operations[operation.record.kind];
    ++count.calls;
    count.bytes += last_bytes = bytes_of(operation);
}

uint64_t last_counted_bytes() noexcept {
    return last_bytes;
}

}  // namespace torch_aclnn::host

using namespace torch_aclnn::host;

extern "C" size_t torchAclnnHostCollectives(torchAclnnCollective* collectives, size_t capacity, size_t recordSize) {
    size_t found = 0;
    guarded(__func__, [&] {
        const std::lock_guard<std::mutex> lock(communication().mutex);
        const auto all = records();
        RecordWriter writer(collectives, capacity, recordSize);
        for (const torchAclnnCollective& record : all) writer.write(record);
        found = all.size();
    });
    return found;
}
