// Before data moves: do the ranks do the same?

#include <map>

#include "engine/hccl/group.h"
#include "engine/hccl/operation.h"
#include "engine/runtime/error/error.h"
#include "engine/runtime/text.h"

namespace torch_aclnn::host {
namespace {

bool same(const OperationRecord& one, const OperationRecord& other) {
    return one.kind == other.kind && one.type == other.type && one.count == other.count && one.root == other.root && one.op == other.op;
}

// "rank 0: HcclAllReduce of 4 float32, sum; ranks 1, 2: HcclBroadcast of 4 float32, root 0"
std::string what_each_does(const std::vector<OperationRecord>& records) {
    std::vector<std::string> order;
    std::map<std::string, std::vector<size_t>> ranks;
    for (size_t rank = 0; rank < records.size(); ++rank) {
        const std::string described = description(records[rank]);
        if (ranks[described].empty()) order.push_back(described);
        ranks[described].push_back(rank);
    }
    std::string all;
    for (const auto& described : order) {
        const auto& those = ranks[described];
        all += text(all.empty() ? "" : "; ", those.size() == 1 ? "rank " : "ranks ");
        for (size_t i = 0; i < those.size(); ++i) all += text(i == 0 ? "" : ", ", those[i]);
        all += ": " + described;
    }
    return all;
}

void require_same_records(Group& group, int size, const OperationRecord& own) {
    static_assert(sizeof own == 24, "it travels as it is, so it has no padding");
    std::vector<OperationRecord> records(static_cast<size_t>(size));
    group.exchange_records(own, records);
    for (const auto& record : records)
        if (!same(record, own)) throw Error(HCCL_E_PARA, "the ranks do not do the same: " + what_each_does(records));
}

// Each rank sees all counts, so that all find the same.
void require_matching_counts(Group& group, int size, const Operation& operation) {
    const auto ranks = static_cast<size_t>(size);
    std::vector<uint64_t> own(operation.gives), all(2 * ranks * ranks);
    own.insert(own.end(), operation.takes.begin(), operation.takes.end());
    group.all_gather(own.data(), all.data(), own.size() * sizeof(uint64_t));
    for (size_t giver = 0; giver < ranks; ++giver) {
        for (size_t taker = 0; taker < ranks; ++taker) {
            const uint64_t given = all[giver * 2 * ranks + taker], taken = all[taker * 2 * ranks + ranks + giver];
            if (given != taken)
                throw Error(HCCL_E_PARA, text("the ranks' counts do not fit together: rank ", giver, " gives rank ", taker, " ", given,
                                              " elements, and rank ", taker, " takes ", taken));
        }
    }
}

}  // namespace

void require_agreement(Group& group, int size, const Operation& operation) {
    require_same_records(group, size, operation.record);
    if (!operation.gives.empty()) require_matching_counts(group, size, operation);
}

}  // namespace torch_aclnn::host
