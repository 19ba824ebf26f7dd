#include "engine/collectives/messages.h"

#include <cstring>

#include "engine/collectives/tensors.h"
#include "engine/hccl/data_types.h"
#include "engine/runtime/error/error.h"
#include "engine/runtime/text.h"
#include "torch_compatibility.h"

namespace torch_aclnn::host {

constexpr int kDataTag = 0;

static OperationRecord record_of(const Message& message, OperationKind kind) {
    return {kind, message.type, message.count, message.peer, -1};
}

static at::Tensor empty_bytes(size_t bytes) {
    return at::empty({static_cast<int64_t>(bytes)}, at::kByte);
}

static at::Tensor tensor_of(const OperationRecord& record) {
    static_assert(sizeof record == 24, "it travels as it is, so it has no padding");
    return bytes_at(&record, sizeof record).clone();
}

static OperationRecord read_record(const at::Tensor& tensor) {
    OperationRecord record;
    std::memcpy(&record, tensor.const_data_ptr(), sizeof record);
    return record;
}

// Returns what differs between two ends of a message, or nothing.
static std::string difference(int sender, const OperationRecord& sent, int receiver, const OperationRecord& received) {
    if (sent.kind != OperationKind::send || received.kind != OperationKind::receive)
        return "the ranks do not do the same: " + description(std::map<int, OperationRecord>{{sender, sent}, {receiver, received}});
    if (sent.count == received.count && sent.type == received.type) return "";
    return text("rank ", sender, " sends ", sent.count, " ", name_of(sent.type), ", and rank ", receiver, " receives ", received.count, " ",
                name_of(received.type));
}

Messages::Messages(c10::intrusive_ptr<c10d::Backend> backend, bool compare)
    : backend_(std::move(backend)), timeout_(timeout_of(*backend_)) {
    if (compare) records_.emplace(*backend_, sizeof(OperationRecord));
}

Messages::~Messages() {
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        closing_ = true;
        changed_.notify_all();
    }
    if (waiter_.joinable()) waiter_.join();
}

void Messages::send(const Message& message) {
    require_sends_succeeded();
    if (message.peer == backend_->getRank()) return to_itself_.send(message);
    Sent sent{message, {}, bytes_at(message.data, message.bytes).clone(), {}, {}, {}};
    with_gloo_errors([&] {
        if (records_) {
            sent.record = tensor_of(record_of(message, OperationKind::send));
            sent.answer = empty_bytes(sizeof(OperationRecord));
            sent.answered = receive_into(sent.answer, message.peer, answer_tag);
            sent.works.push_back(send_to(message.peer, sent.record, record_tag));
        }
        sent.works.push_back(send_to(message.peer, sent.copy, kDataTag));
    });
    keep_until_taken(std::move(sent));
}

void Messages::exchange(const std::vector<Message>& sends, const std::vector<Message>& receives) {
    for (const auto& message : sends) send(message);
    std::vector<Message> from_others;
    for (const auto& message : receives) {
        if (message.peer == backend_->getRank())
            to_itself_.receive(message);
        else
            from_others.push_back(message);
    }
    with_gloo_errors([&] { receive_all(from_others); });
}

void Messages::receive_all(const std::vector<Message>& receives) {
    std::vector<Work> works;
    std::string differences;
    for (const auto& message : receives) {
        at::Tensor target = bytes_at(message.data, message.bytes);
        if (records_) {
            const auto own = record_of(message, OperationKind::receive), other = take_record(message.peer);
            const std::string differs = difference(message.peer, other, backend_->getRank(), own);
            if (other.kind != OperationKind::send) throw Error(HCCL_E_REMOTE, differs);
            answer(message.peer, own);
            // A message that differs is received all the same, so that the next call receives the next one.
            if (!differs.empty()) {
                target = empty_bytes(other.count * bytes_of(other.type));
                differences += (differences.empty() ? "" : "; ") + differs;
            }
        }
        works.push_back(receive_into(target, message.peer, kDataTag));
    }
    for (const auto& work : works) work->wait(timeout_);
    if (!differences.empty()) throw Error(HCCL_E_PARA, differences);
}

std::vector<OperationRecord> Messages::compare(const OperationRecord& own) {
    std::vector<OperationRecord> records(static_cast<size_t>(backend_->getSize()));
    records_->exchange(*backend_, &own, records.data());
    for (size_t rank = 0; rank < records.size(); ++rank)
        if (records[rank].kind == OperationKind::send) answer(static_cast<int>(rank), own);
    return records;
}

OperationRecord Messages::take_record(int peer) {
    OperationRecord record;
    records_->take(*backend_, peer, &record);
    return record;
}

// Answers a sender, which has been ready to take the answer since it sent.
void Messages::answer(int peer, const OperationRecord& own) {
    with_gloo_errors([&] { send_to(peer, tensor_of(own), answer_tag)->wait(timeout_); });
}

Messages::Work Messages::send_to(int peer, const at::Tensor& tensor, int tag) const {
    std::vector<at::Tensor> tensors{tensor};
    return backend_->send(tensors, peer, tag);
}

Messages::Work Messages::receive_into(const at::Tensor& tensor, int peer, int tag) const {
    std::vector<at::Tensor> tensors{tensor};
    return backend_->recv(tensors, peer, tag);
}

void Messages::flush() {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [this] { return sent_.empty(); });
    lock.unlock();
    require_sends_succeeded();
}

void Messages::abort() noexcept {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (const auto& sent : sent_) {
        for (const auto& work : sent.works) work->abort();
        if (sent.answered) sent.answered->abort();
    }
}

void Messages::keep_until_taken(Sent sent) {
    const std::lock_guard<std::mutex> lock(mutex_);
    sent_.push_back(std::move(sent));
    if (!waiter_.joinable()) waiter_ = std::thread([this] { await_takers(); });
    changed_.notify_all();
}

void Messages::await_takers() {
    std::unique_lock<std::mutex> lock(mutex_);
    while (true) {
        changed_.wait(lock, [this] { return closing_ || !sent_.empty(); });
        if (sent_.empty()) return;
        const Sent sent = sent_.front();
        lock.unlock();
        const std::string failure = failure_of(sent);
        lock.lock();
        if (send_failure_.empty()) send_failure_ = failure;
        sent_.pop_front();
        changed_.notify_all();
    }
}

// Waits until the message has been taken. What its receiver refuses is no failure of the connection.
std::string Messages::failure_of(const Sent& sent) const {
    try {
        if (sent.answered) {
            if (!sent.answered->wait(timeout_)) return "the communicator was given up";
            const auto answer = read_record(sent.answer);
            const auto differs = difference(backend_->getRank(), record_of(sent.message, OperationKind::send), sent.message.peer, answer);
            if (!differs.empty()) refused_(sent.message, differs);
            if (answer.kind != OperationKind::receive) return differs;
        }
        for (const auto& work : sent.works)
            if (!work->wait(timeout_)) return "the communicator was given up";
        return "";
    } catch (const std::exception& error) {
        return error.what();
    }
}

void Messages::require_sends_succeeded() {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!send_failure_.empty()) throw Error(HCCL_E_REMOTE, "an earlier HcclSend was not taken: " + send_failure_);
}

}  // namespace torch_aclnn::host
