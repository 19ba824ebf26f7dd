#include "engine/hccl/communicator.h"

#include <algorithm>
#include <cstdio>

#include "engine/hccl/settings.h"
#include "engine/runtime/handle_table.h"
#include "engine/runtime/text.h"

namespace torch_aclnn::host {
namespace {

constexpr int kCommunicationFailed = 507022;  // documented: communication between processes failed

// Never destroyed: calls still come while the process exits.
HandleTable<Communicator>& communicators() {
    static auto* const once = new HandleTable<Communicator>(HandleKind::communicator);
    return *once;
}

}  // namespace

Communicator::Communicator(Membership membership, std::unique_ptr<Group> group)
    : membership_(std::move(membership)), group_(std::move(group)), thread_([this] { work(); }) {}

Communicator::~Communicator() {
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        closing_ = true;
        launched_.notify_one();
    }
    thread_.join();
}

void Communicator::launch(Operation operation, aclrtStream stream, Body body) {
    const std::lock_guard<std::mutex> lock(mutex_);
    auto task = DeferredTask::put_on(stream, name_of(operation.record.kind));
    queue_.push_back({std::move(operation), std::move(task), std::move(body)});
    launched_.notify_one();
}

std::optional<Error> Communicator::unreported_failure() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (failure_ == nullptr || !failure_->pending()) return std::nullopt;
    return Error(failure_code_, failure_->error().what(), failure_->error().function());
}

std::string Communicator::next_suffix(uint64_t number) {
    const std::lock_guard<std::mutex> lock(mutex_);
    return text("/", number, ".", derived_[number]++);
}

void Communicator::work() {
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
        if (is_collective && collective_settings().check) require_agreement(*group_, membership_.size, launched.operation);
        launched.body(*group_);
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
}

std::string Communicator::context_of(const Operation& operation) const {
    const std::string where = text(" on rank ", membership_.rank, " of ", membership_.size, ", communicator ", membership_.name);
    const std::string number = operation.is_collective() ? text(", its collective ", collectives_) : "";
    return description(operation.record) + where + number;
}

// Ranks that wait for this one are told, and the others named.
std::string Communicator::give_up(const Operation& operation) {
    try {
        if (operation.is_collective()) group_->report_failure(collectives_);
        group_->abandon();
        return operation.is_collective() ? ranks_that_did_not_fail() : "";
    } catch (const std::exception&) {
        group_->abandon();
        return "; the rank where all met does not answer";
    }
}

std::string Communicator::ranks_that_did_not_fail() const {
    const std::vector<int> others = group_->others_that_failed(collectives_);
    std::string missing;
    for (int rank = 0; rank < membership_.size; ++rank) {
        const bool failed = rank == membership_.rank || std::find(others.begin(), others.end(), rank) != others.end();
        if (!failed) missing += text(missing.empty() ? "" : ", ", rank);
    }
    return missing.empty() ? "; it failed on all ranks" : "; not heard of: rank " + missing;
}

std::shared_ptr<Communicator> find_communicator(HcclComm handle) {
    if (handle == nullptr) refuse(HCCL_E_PTR, "comm", "a communicator", "null");
    auto found = communicators().find(handle);
    if (found == nullptr) refuse(HCCL_E_PARA, "comm", "a live communicator", text(handle));
    return found;
}

HcclComm add_communicator(std::shared_ptr<Communicator> communicator) {
    return communicators().add(std::move(communicator));
}

std::shared_ptr<Communicator> remove_communicator(HcclComm handle) {
    (void)find_communicator(handle);
    return communicators().remove(handle);
}

}  // namespace torch_aclnn::host
