#include "engine/collectives/messages.h"

#include <cstring>

#include "engine/collectives/gloo_error.h"
#include "engine/collectives/tensors.h"
#include "engine/hccl/data_types.h"
#include "engine/runtime/error/error.h"
#include "engine/runtime/text.h"

namespace torch_aclnn::host {
namespace {

constexpr int kDataTag = 0;
constexpr int kHeaderTag = 1;

// As it travels.
struct Header {
    uint64_t count;
    uint64_t type;
};

at::Tensor header_of(const Message& message) {
    const Header header{message.count, static_cast<uint64_t>(message.type)};
    return bytes_at(&header, sizeof header).clone();
}

at::Tensor empty_bytes(size_t bytes) {
    return at::empty({static_cast<int64_t>(bytes)}, at::kByte);
}

Header read_header(const at::Tensor& tensor) {
    Header header;
    std::memcpy(&header, tensor.const_data_ptr(), sizeof header);
    return header;
}

}  // namespace

Messages::Messages(c10::intrusive_ptr<c10d::Backend> backend, bool compare) : backend_(std::move(backend)), compare_(compare) {}

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
    const at::Tensor copy = bytes_at(message.data, message.bytes).clone();
    if (message.peer == backend_->getRank()) return to_itself_.push_back(copy);
    if (compare_) post(header_of(message), message.peer, kHeaderTag);
    post(copy, message.peer, kDataTag);
}

void Messages::exchange(const std::vector<Message>& sends, const std::vector<Message>& receives) {
    for (const auto& message : sends) send(message);
    std::vector<Message> from_others;
    for (const auto& message : receives) {
        if (message.peer == backend_->getRank())
            receive_from_itself(message);
        else
            from_others.push_back(message);
    }
    try {
        receive_all(from_others);
    } catch (const Error&) {
        throw;
    } catch (const std::exception& error) {
        throw_gloo_error(error);
    }
}

void Messages::receive_all(const std::vector<Message>& receives) {
    std::vector<at::Tensor> headers;
    std::vector<Work> works;
    for (const auto& message : receives) {
        if (!compare_) break;
        headers.push_back(empty_bytes(sizeof(Header)));
        works.push_back(receive_into(headers.back(), message.peer, kHeaderTag));
    }
    for (const auto& work : works) work->wait();
    works.clear();
    std::string differences;
    for (size_t i = 0; i < receives.size(); ++i) {
        const auto& message = receives[i];
        at::Tensor target = bytes_at(message.data, message.bytes);
        const std::string differs = compare_ ? difference(message, headers[i]) : "";
        // It is taken all the same, so that the next message is the next one.
        if (!differs.empty()) {
            const Header header = read_header(headers[i]);
            target = empty_bytes(header.count * bytes_of(static_cast<HcclDataType>(header.type)));
            differences += (differences.empty() ? "" : "; ") + differs;
        }
        works.push_back(receive_into(target, message.peer, kDataTag));
    }
    for (const auto& work : works) work->wait();
    if (!differences.empty()) throw Error(HCCL_E_PARA, differences);
}

void Messages::receive_from_itself(const Message& message) {
    if (to_itself_.empty()) throw Error(HCCL_E_PARA, "a rank receives from itself what it has not sent");
    if (to_itself_.front().nbytes() != message.bytes)
        throw Error(HCCL_E_PARA, "a rank receives from itself another number of bytes than it has sent");
    bytes_at(message.data, message.bytes).copy_(to_itself_.front());
    to_itself_.pop_front();
}

std::string Messages::difference(const Message& expected, const at::Tensor& tensor) const {
    const Header header = read_header(tensor);
    const auto type = static_cast<HcclDataType>(header.type);
    if (header.count == expected.count && type == expected.type) return "";
    return text("rank ", expected.peer, " sends ", header.count, " ", name_of(type), ", and rank ", backend_->getRank(), " receives ",
                expected.count, " ", name_of(expected.type));
}

Messages::Work Messages::receive_into(const at::Tensor& tensor, int peer, int tag) const {
    std::vector<at::Tensor> tensors{tensor};
    return backend_->recv(tensors, peer, tag);
}

void Messages::post(const at::Tensor& copy, int peer, int tag) {
    std::vector<at::Tensor> tensors{copy};
    try {
        keep_until_taken({copy, backend_->send(tensors, peer, tag)});
    } catch (const std::exception& error) {
        throw_gloo_error(error);
    }
}

void Messages::flush() {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [this] { return sent_.empty(); });
    lock.unlock();
    require_sends_succeeded();
}

bool Messages::idle() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return sent_.empty();
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
        const Work work = sent_.front().work;
        lock.unlock();
        std::string failure;
        try {
            work->wait();
        } catch (const std::exception& error) {
            failure = error.what();
        }
        lock.lock();
        if (send_failure_.empty()) send_failure_ = failure;
        sent_.pop_front();
        changed_.notify_all();
    }
}

void Messages::require_sends_succeeded() {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!send_failure_.empty()) throw Error(HCCL_E_REMOTE, "an earlier HcclSend was not taken: " + send_failure_);
}

}  // namespace torch_aclnn::host
