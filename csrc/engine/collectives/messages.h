// Messages between two ranks of a c10d::Backend. What is sent is copied, so that no sender waits for its receiver.
#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <string>
#include <thread>
#include <torch/csrc/distributed/c10d/Backend.hpp>

#include "engine/hccl/group.h"

namespace torch_aclnn::host {

class Messages {
   public:
    // `compare`: what a message is goes in front of it, and the receiver compares that with what it expects.
    Messages(c10::intrusive_ptr<c10d::Backend> backend, bool compare);
    ~Messages();

    void send(const Message& message);
    void exchange(const std::vector<Message>& sends, const std::vector<Message>& receives);
    // Waits until all that was sent has been taken.
    void flush();
    bool idle();

   private:
    using Work = c10::intrusive_ptr<c10d::Work>;

    // What has not been taken yet, and the copy that is sent.
    struct Sent {
        at::Tensor copy;
        Work work;
    };

    void post(const at::Tensor& copy, int peer, int tag);
    void keep_until_taken(Sent sent);
    void await_takers();
    void require_sends_succeeded();
    Work receive_into(const at::Tensor& tensor, int peer, int tag) const;
    std::string difference(const Message& expected, const at::Tensor& header) const;
    void receive_all(const std::vector<Message>& receives);
    void receive_from_itself(const Message& message);

    const c10::intrusive_ptr<c10d::Backend> backend_;
    const bool compare_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<Sent> sent_;
    bool closing_ = false;
    std::string send_failure_;
    std::deque<at::Tensor> to_itself_;
    std::thread waiter_;  // started by the first send
};

}  // namespace torch_aclnn::host
