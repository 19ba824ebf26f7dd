// A rank whose peers are not there: each of them is taken to hold what this one holds. It needs neither torch nor a connection.

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <numeric>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "engine/hccl/data_types.h"
#include "engine/hccl/group.h"
#include "engine/hccl/own_messages.h"
#include "engine/runtime/config/config.h"
#include "engine/runtime/diagnostics/findings.h"
#include "engine/runtime/error/error.h"
#include "engine/runtime/lasting.h"
#include "engine/runtime/memory/host_view.h"
#include "engine/runtime/text.h"
#include "kernels/support/half.h"

namespace torch_aclnn::host {
namespace {

char* at(const void* data, size_t offset = 0) {
    return host_view(static_cast<char*>(const_cast<void*>(data)) + offset);
}

// Copies what another rank gives, which may be shorter or longer than what this one has; the rest is unknown.
void fill(char* output, size_t bytes, const char* input, size_t available) {
    const size_t known = input == nullptr ? 0 : std::min(bytes, available);
    if (known != 0) std::memmove(output, input, known);
    if (known != bytes) std::memset(output + known, 0, bytes - known);
}

// The messages of a few integers that this rank has sent, and to which no other rank has answered. Megatron-LM's pipelines of two stages
// send through one communicator and receive through another.
class Unanswered {
   public:
    struct Sent {
        const void* group;
        int peer;
        std::vector<char> values;
    };

    void add(Sent sent) {
        const std::lock_guard<std::mutex> lock(mutex_);
        sent_.push_back(std::move(sent));
    }

    std::optional<std::vector<char>> take(const void* group, const Message& message) {
        const std::lock_guard<std::mutex> lock(mutex_);
        for (const bool here : {true, false})
            for (auto sent = sent_.begin(); sent != sent_.end(); ++sent) {
                const bool is_here = sent->group == group;
                if (sent->values.size() != message.bytes || is_here != here || (here && sent->peer != message.peer)) continue;
                std::vector<char> values = std::move(sent->values);
                sent_.erase(sent);
                return values;
            }
        return std::nullopt;
    }

   private:
    std::mutex mutex_;
    std::deque<Sent> sent_;
};

constexpr auto& unanswered = lasting<Unanswered>;

// Half types convert to and from float only, which holds their sums over any number of ranks.
template <class T>
using Computed = std::conditional_t<std::is_integral_v<T>, uint64_t, std::conditional_t<std::is_floating_point_v<T>, double, float>>;

template <class T>
T power(T base, int exponent) {
    T result = 1;
    for (; exponent != 0; exponent >>= 1, base *= base)
        if ((exponent & 1) != 0) result *= base;
    return result;
}

template <class T>
void reduce(const void* values, void* result, uint64_t count, HcclReduceOp op, int ranks) {
    using C = Computed<T>;
    const auto* const from = static_cast<const T*>(values);
    auto* const to = static_cast<T*>(result);
    for (uint64_t i = 0; i < count; ++i) {
        const C value = static_cast<C>(from[i]);
        to[i] = static_cast<T>(op == HCCL_REDUCE_SUM ? value * static_cast<C>(ranks) : power(value, ranks));
    }
}

using Reduce = void (*)(const void* values, void* result, uint64_t count, HcclReduceOp op, int ranks);

// The signed types wrap around as the unsigned ones do.
Reduce reduction_of(HcclDataType type) {
    switch (type) {
        case HCCL_DATA_TYPE_INT8:
        case HCCL_DATA_TYPE_UINT8: return reduce<uint8_t>;
        case HCCL_DATA_TYPE_INT16:
        case HCCL_DATA_TYPE_UINT16: return reduce<uint16_t>;
        case HCCL_DATA_TYPE_INT32:
        case HCCL_DATA_TYPE_UINT32: return reduce<uint32_t>;
        case HCCL_DATA_TYPE_INT64:
        case HCCL_DATA_TYPE_UINT64: return reduce<uint64_t>;
        case HCCL_DATA_TYPE_FP16: return reduce<kernels::Half>;
        case HCCL_DATA_TYPE_BFP16: return reduce<kernels::BFloat16>;
        case HCCL_DATA_TYPE_FP32: return reduce<float>;
        case HCCL_DATA_TYPE_FP64: return reduce<double>;
        default: throw Error(HCCL_E_NOT_SUPPORT, "a type that cannot be reduced");
    }
}

// Reduces values that are equal on all ranks, and rounds once; integers wrap around. `result` may be `values`.
void reduce_equal_values(const void* values, void* result, uint64_t count, HcclDataType type, HcclReduceOp op, int ranks) {
    const void* const from = host_view(values);
    void* const to = host_view(result);
    if (ranks == 1 || op == HCCL_REDUCE_MAX || op == HCCL_REDUCE_MIN) {
        std::memmove(to, from, count * bytes_of(type));
        return;
    }
    reduction_of(type)(from, to, count, op, ranks);
}

class GroupAlone : public Group {
   public:
    GroupAlone(int rank, int size) : rank_(static_cast<size_t>(rank)), size_(static_cast<size_t>(size)) {}

    std::vector<OperationRecord> compare(const OperationRecord& own) override { return std::vector<OperationRecord>(size_, own); }

    void broadcast(void*, size_t, int) override {}

    void all_gather(const void* input, void* output, size_t bytes) override {
        for (size_t rank = 0; rank < size_; ++rank) fill(at(output, rank * bytes), bytes, at(input), bytes);
    }

    void all_gather_parts(const void* input, void* output, const std::vector<Part>& parts) override {
        for (const auto& part : parts) fill(at(output, part.begin), part.bytes, at(input), parts[rank_].bytes);
    }

    void scatter(const void* input, void* output, size_t bytes, int root) override {
        const bool knows = is_this(root);
        fill(at(output), bytes, knows ? at(input, rank_ * bytes) : nullptr, knows ? bytes : 0);
    }

    // Every other rank is assumed to send what this rank sends to itself.
    void all_to_all(const Parts& input, const Parts& output) override {
        const auto own = input.bytes.begin() + static_cast<std::ptrdiff_t>(rank_);
        const char* const begin = at(input.data, static_cast<size_t>(std::accumulate(input.bytes.begin(), own, int64_t{0})));
        const std::vector<char> given(begin, begin + *own);
        size_t offset = 0;
        for (const int64_t bytes : output.bytes) {
            fill(at(output.data, offset), static_cast<size_t>(bytes), given.data(), given.size());
            offset += static_cast<size_t>(bytes);
        }
    }

    void all_reduce(const void* input, void* output, uint64_t count, HcclDataType type, HcclReduceOp op) override {
        reduce_equal_values(input, output, count, type, op, static_cast<int>(size_));
    }

    void reduce(const void* input, void* output, uint64_t count, HcclDataType type, HcclReduceOp op, int root) override {
        if (is_this(root)) all_reduce(input, output, count, type, op);
    }

    void reduce_scatter(const void* input, void* output, uint64_t count, HcclDataType type, HcclReduceOp op) override {
        all_reduce(static_cast<const char*>(input) + rank_ * count * bytes_of(type), output, count, type, op);
    }

    void send(const Message& message) override {
        if (is_this(message.peer)) return to_itself_.send(message);
        const char* const data = at(message.data);
        if (!message.is_few_integers()) return;
        unanswered().add({this, message.peer, {data, data + message.bytes}});
        sent_last_[message.bytes].assign(data, data + message.bytes);
    }

    // Messages of other ranks are unknown. A stage of a pipeline gets gradients of the shapes that it sent, in their order; so one of a few
    // integers is taken for the answer to the first message that has none, or for the last one that this rank sent.
    void receive(const Message& message) override {
        if (is_this(message.peer)) return to_itself_.receive(message);
        std::vector<char> values;
        if (message.is_few_integers()) values = unanswered().take(this, message).value_or(sent_last_[message.bytes]);
        fill(at(message.data), message.bytes, values.data(), values.size());
        if (!values.empty()) add_finding("few integers received from another rank are those that this rank sent");
    }

    void exchange(const std::vector<Message>& sends, const std::vector<Message>& receives) override {
        for (const auto& message : sends) send(message);
        for (const auto& message : receives) receive(message);
    }

    void set_refused(Refused) override {}
    void flush() override {}
    void abandon() noexcept override {}
    void report_failure(const std::string& operation) override { failed_ = operation; }

    std::map<int, std::string> failures_of_others() override {
        std::map<int, std::string> failures;
        for (size_t rank = 0; rank < size_; ++rank)
            if (rank != rank_) failures.emplace(static_cast<int>(rank), failed_);
        return failures;
    }

    int meeting_rank() const override { return static_cast<int>(rank_); }

   private:
    bool is_this(int rank) const { return static_cast<size_t>(rank) == rank_; }

    const size_t rank_, size_;
    OwnMessages to_itself_;
    std::map<size_t, std::vector<char>> sent_last_;  // by number of bytes
    std::string failed_;
};

[[noreturn]] void refuse_several_ranks() {
    throw Error(HCCL_E_NOT_SUPPORT,
                "collectives of several ranks need a Python process in which `import torch_aclnn` works: they run on torch's Gloo");
}

class TransportAlone : public Transport {
   public:
    std::string listen() override { return text("alone 0 ", getpid(), ".", ++announced_); }

    Meeting meeting_of_table(const std::string&) override {
        if (config().rank_alone) throw Error(HCCL_E_NOT_SUPPORT, "with TORCH_ACLNN_HOST_RANK_ALONE ranks do not meet by a rank table");
        refuse_several_ranks();
    }

    void listen_at(const std::string&) override {}

    std::unique_ptr<Group> connect(const Membership& membership) override {
        if (membership.size != 1 && !config().rank_alone) refuse_several_ranks();
        return std::make_unique<GroupAlone>(membership.rank, membership.size);
    }

    std::vector<std::unique_ptr<Group>> connect_all(const std::vector<Membership>& memberships) override {
        std::vector<std::unique_ptr<Group>> groups;
        for (const auto& membership : memberships) groups.push_back(connect(membership));
        return groups;
    }

   private:
    std::atomic<int> announced_{0};
};

}  // namespace

Transport& transport_alone() {
    return lasting<TransportAlone>();
}

}  // namespace torch_aclnn::host
