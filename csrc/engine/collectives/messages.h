// Messages between two ranks of a c10d::Backend. What is sent is copied, so that no sender waits for its receiver.
//
// If the ranks compare, a record of what the sender does goes in front of each message, and the receiver answers with one of what it does.
// A collective begins with such records too, so that a rank which waits for a message learns that the other runs a collective.
#pragma once

#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>

#include "engine/collectives/blocks.h"
#include "engine/hccl/group.h"
#include "engine/hccl/own_messages.h"

namespace torch_aclnn::host {

class Messages {
   public:
    Messages(c10::intrusive_ptr<c10d::Backend> backend, bool compare);
    ~Messages();

    void set_refused(Group::Refused refused) { refused_ = std::move(refused); }
    void send(const Message& message);
    void exchange(const std::vector<Message>& sends, const std::vector<Message>& receives);
    // Sends the record to each other rank and returns theirs, with it among them.
    std::vector<OperationRecord> compare(const OperationRecord& own);
    // Waits until all that was sent has been taken.
    void flush();
    // Ends the messages that have not been taken.
    void abort() noexcept;

   private:
    using Work = c10::intrusive_ptr<c10d::Work>;

    // A message that has not been taken yet, or a record that goes without a message.
    struct Sent {
        Message message;
        at::Tensor record, copy, answer;
        std::vector<Work> works;
        Work answered;  // null if no answer is sent
    };

    Work send_to(int peer, const at::Tensor& tensor, int tag) const;
    Work receive_into(const at::Tensor& tensor, int peer, int tag) const;
    OperationRecord take_record(int peer);
    void answer(int peer, const OperationRecord& own);
    void keep_until_taken(Sent sent);
    void await_takers();
    std::string failure_of(const Sent& sent) const;
    void require_sends_succeeded();
    void receive_all(const std::vector<Message>& receives);

    const c10::intrusive_ptr<c10d::Backend> backend_;
    const std::chrono::milliseconds timeout_;
    std::optional<RecordExchange> records_;  // without it, nothing is compared
    Group::Refused refused_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<Sent> sent_;
    bool closing_ = false;
    std::string send_failure_;
    OwnMessages to_itself_;
    std::thread waiter_;  // started by the first send
};

}  // namespace torch_aclnn::host
