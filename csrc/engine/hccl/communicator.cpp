#include "engine/hccl/communicator.h"

#include <cstdio>

#include "engine/hccl/counts.h"
#include "engine/hccl/data_types.h"
#include "engine/runtime/fault/injection.h"
#include "engine/runtime/memory/memory_use.h"
#include "engine/runtime/stream/computing_thread.h"
#include "engine/runtime/stream/dry_run.h"
#include "engine/runtime/text.h"

namespace torch_aclnn::host {
namespace {

constexpr int kCommunicationFailed = 507022;  // documented: communication between processes failed

// torch_npu's watchdog ends the process when it hears of a failure, so the program first has this time to hear of it as an exception.
constexpr auto kTimeToSynchronize = std::chrono::seconds(2);

// Refuses buffers that have been freed since the launch. The other ranks wait for this one, so this is no disagreement.
void require_not_freed(const std::vector<Buffer>& buffers) {
    try {
        require_device_memory(buffers);
    } catch (const Error& error) {
        throw Error(HCCL_E_MEMORY, text(error.what(), ", because it was freed after the launch"));
    }
}

// Operators that compute and communicate are not checked: their buffers are tensors, whose types differ from the record's.
void require_aligned(const Operation& operation) {
    if (operation.entry_point != nullptr) return;
    const auto size = static_cast<uintptr_t>(bytes_of(operation.record.type));
    for (const Buffer& buffer : operation.buffers)
        if (buffer.bytes > 0 && reinterpret_cast<uintptr_t>(buffer.address) % size != 0)
            refuse(HCCL_E_PARA, buffer.parameter,
                   text("an address that is a multiple of ", size, ", the size of ", name_of(operation.record.type)), text(buffer.address));
}

std::vector<MemoryAccess> accesses_of(const Operation& operation, int rank) {
    const bool is_root = operation.record.kind == OperationKind::broadcast && operation.record.root == rank;
    // An operation that only receives may leave the memory as it was.
    const bool keeps = operation.record.kind == OperationKind::broadcast || operation.record.kind >= OperationKind::send;
    std::vector<MemoryAccess> accesses;
    for (const Buffer& buffer : operation.buffers)
        if (buffer.bytes > 0)
            accesses.push_back({buffer.parameter, buffer.address, buffer.bytes, !buffer.only_read && !is_root, keeps && !buffer.is_filled});
    return accesses;
}

// A graph's operation. The communicator is not kept by the graphs that have operations of it.
class CapturedOperation final : public NamedTask {
   public:
    CapturedOperation(std::weak_ptr<Communicator> communicator, Operation operation, Communicator::Body body)
        : NamedTask(operation.name()), communicator_(std::move(communicator)), operation_(std::move(operation)), body_(std::move(body)) {}

    bool put_on(Stream& stream) override {
        const auto communicator = communicator_.lock();
        if (communicator == nullptr)
            throw Error(ACL_ERROR_RT_PARAM_INVALID, text(name(), ": its communicator was destroyed after the capture"));
        communicator->launch_now(operation_, stream, body_);
        return true;
    }
    void run() override { throw Error(ACL_ERROR_API_NOT_SUPPORT, "the torch_aclnn host engine has no collectives in branches"); }

   private:
    const std::weak_ptr<Communicator> communicator_;
    const Operation operation_;
    const Communicator::Body body_;
};

}  // namespace

Communicator::Communicator(Membership membership, std::unique_ptr<Group> group)
    : membership_(std::move(membership)), group_(std::move(group)) {
    group_->set_refused([this](const Message& message, const std::string& difference) { refuse_sent(message, difference); });
    count_communicator(membership_.name, membership_.size);
    thread_ = std::thread([this] { work(); });
}

Communicator::~Communicator() {
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        closing_ = true;
        launched_.notify_one();
    }
    thread_.join();
}

void Communicator::launch(Operation operation, aclrtStream stream, Body body) {
    if (is_of_another_process()) throw Error(HCCL_E_UNAVAIL, "the communicator belongs to the process that this one was forked from");
    require_device_memory(operation.buffers);
    require_aligned(operation);
    may_fail(name_of(operation.record.kind));
    const auto captured = [&] { return std::make_unique<CapturedOperation>(weak_from_this(), operation, body); };
    if (!DeferredTask::is_captured(stream, captured)) launch_now(std::move(operation), stream, std::move(body));
}

template <class Place>
void Communicator::launch_now(Operation operation, Place&& stream, Body body) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (closing_) throw Error(HCCL_E_UNAVAIL, "the communicator is being destroyed");
    auto task = DeferredTask::put_on(stream, operation.name(), accesses_of(operation, membership_.rank));
    count_operation(membership_.name, operation);
    queue_.push_back({std::move(operation), std::move(task), std::move(body)});
    launched_.notify_one();
}

std::optional<Error> Communicator::unreported_failure() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (failure_ == nullptr || !failure_->pending() || Completion::Clock::now() < failed_at_ + kTimeToSynchronize) return std::nullopt;
    return Error(failure_code_, failure_->error().what(), failure_->error().function());
}

std::string Communicator::next_suffix(uint64_t number) {
    const std::lock_guard<std::mutex> lock(mutex_);
    return text("/", number, ".", derived_[number]++);
}

void Communicator::work() {
    const OneThread here;
    std::unique_lock<std::mutex> lock(mutex_);
    while (true) {
        launched_.wait(lock, [this] { return closing_ || !queue_.empty(); });
        if (queue_.empty()) break;
        Launched next = std::move(queue_.front());
        queue_.pop_front();
        lock.unlock();
        run(next);
        lock.lock();
    }
    lock.unlock();
    try {
        group_->flush();
    } catch (const std::exception& error) {
        std::fprintf(stderr, "torch_aclnn: communicator %s, rank %d, ends before all it sent was taken: %s\n", membership_.name.c_str(),
                     membership_.rank, error.what());
    }
}

void Communicator::run(Launched& launched) {
    if (!launched.task->start()) return;
    const bool is_collective = launched.operation.is_collective();
    if (is_collective) ++collectives_;
    try {
        if (!lost_.empty()) throw Error(HCCL_E_UNAVAIL, "the communicator was lost before, in " + lost_);
        std::deque<MemoryUse> uses;
        for (const auto& buffer : launched.operation.buffers) uses.emplace_back(buffer.address, buffer.bytes);
        require_not_freed(launched.operation.buffers);
        if (is_collective && membership_.compare) require_agreement(*group_, membership_.size, launched.operation);
        perform(accesses_of(launched.operation, membership_.rank), [&] { launched.body(*group_); }, launched.operation.skip);
    } catch (const Error& error) {
        return keep_failure(launched, error.code(), error.what());
    } catch (const std::exception& error) {
        return keep_failure(launched, HCCL_E_INTERNAL, error.what());
    }
    launched.task->succeed();
}

void Communicator::keep_failure(Launched& launched, int code, const std::string& message) {
    std::string explained = text(message, " (", context_of(launched.operation), ")");
    // After a disagreement all ranks are where they were; after anything else nobody knows what is still on its way.
    if (code != HCCL_E_PARA && lost_.empty()) {
        lost_ = text(description(launched.operation.record), ": ", message);
        explained += give_up(launched.operation);
    }
    const auto failure = launched.task->fail(kCommunicationFailed, explained.c_str());
    const std::lock_guard<std::mutex> lock(mutex_);
    failure_ = failure;
    failure_code_ = code;
    failed_at_ = Completion::Clock::now();
}

std::string Communicator::context_of(const Operation& operation) const {
    const std::string where = text(" on rank ", membership_.rank, " of ", membership_.size, ", communicator ", membership_.name);
    const std::string number = operation.is_collective() ? text(", its collective ", collectives_) : "";
    return description(operation.record) + where + number;
}

// The send was over long ago, so the failure is put on its stream as one more operation.
void Communicator::refuse_sent(const Message& message, const std::string& difference) {
    const Operation sent{{OperationKind::send, message.type, message.count, message.peer, -1}, {}, {}, {}};
    try {
        launch_now(sent, message.stream, [difference](Group&) { throw Error(HCCL_E_PARA, difference); });
    } catch (const std::exception& error) {
        std::fprintf(stderr, "torch_aclnn: %s (%s), which cannot be reported: %s\n", difference.c_str(), context_of(sent).c_str(),
                     error.what());
    }
}

// Tells the ranks that wait for this one, and names the others.
std::string Communicator::give_up(const Operation& operation) {
    const std::string own = description(operation.record);
    try {
        group_->report_failure(own);
        group_->abandon();
        return what_is_known_of_others(own);
    } catch (const std::exception&) {
        group_->abandon();
        const std::string met = group_->meeting_rank() < 0 ? "the rank" : text("rank ", group_->meeting_rank());
        return "; not heard of: " + met + ", where all met, so that nothing is known of the others";
    }
}

// Names the ranks that failed in another operation, and those that report nothing: either may be the reason of a timeout.
std::string Communicator::what_is_known_of_others(const std::string& own) const {
    const auto failures = group_->failures_of_others();
    std::string failed_otherwise, missing;
    for (int rank = 0; rank < membership_.size; ++rank) {
        if (rank == membership_.rank) continue;
        const auto failure = failures.find(rank);
        if (failure == failures.end())
            missing += text(missing.empty() ? "; not heard of: rank " : ", ", rank);
        else if (failure->second != own)
            failed_otherwise += text("; rank ", rank, " failed in ", failure->second);
    }
    if (failed_otherwise.empty() && missing.empty()) return "; it failed on all ranks";
    return failed_otherwise + missing;
}

}  // namespace torch_aclnn::host
