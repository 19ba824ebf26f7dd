// Checks, before data moves, that all ranks are about to do the same.

#include "engine/hccl/group.h"
#include "engine/hccl/operation.h"
#include "engine/runtime/error/error.h"
#include "engine/runtime/text.h"

namespace torch_aclnn::host {

static bool same(const OperationRecord& one, const OperationRecord& other) {
    return one.kind == other.kind && one.type == other.type && one.count == other.count && one.root == other.root && one.op == other.op;
}

static void require_same_records(Group& group, const OperationRecord& own) {
    std::map<int, OperationRecord> by_rank;
    bool all_same = true, all_collective = true;
    for (const auto& record : group.compare(own)) {
        by_rank.emplace(static_cast<int>(by_rank.size()), record);
        all_same = all_same && same(record, own);
        all_collective = all_collective && is_collective(record.kind);
    }
    // A rank that sends a message instead does not hear of the others, so it will not take part in what they do next.
    if (!all_same) throw Error(all_collective ? HCCL_E_PARA : HCCL_E_REMOTE, "the ranks do not do the same: " + description(by_rank));
}

// Each rank sees all counts, so that all ranks find the same mismatches.
static void require_matching_counts(Group& group, int size, const Operation& operation) {
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

void require_agreement(Group& group, int size, const Operation& operation) {
    require_same_records(group, operation.record);
    if (!operation.gives.empty()) require_matching_counts(group, size, operation);
}

}  // namespace torch_aclnn::host
