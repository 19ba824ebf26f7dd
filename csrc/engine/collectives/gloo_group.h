// A Group on a c10d::Backend: torch's ProcessGroupGloo, whose own header needs those of gloo, which torch does not install.
#pragma once

#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include "engine/hccl/group.h"

namespace torch_aclnn::host {

class GlooGroup : public Group {
   public:
    // The store is the one in which the ranks met.
    GlooGroup(c10::intrusive_ptr<c10d::Backend> backend, c10::intrusive_ptr<c10d::Store> store);
    ~GlooGroup() override;

    void broadcast(void* data, size_t bytes, int root) override;
    void all_gather(const void* input, void* output, size_t bytes) override;
    void scatter(const void* input, void* output, size_t bytes, int root) override;
    void all_to_all(const Parts& input, const Parts& output) override;
    void all_reduce(const void* input, void* output, uint64_t count, HcclDataType type, HcclReduceOp op) override;
    void reduce(const void* input, void* output, uint64_t count, HcclDataType type, HcclReduceOp op, int root) override;
    void reduce_scatter(const void* input, void* output, uint64_t count, HcclDataType type, HcclReduceOp op) override;
    void send(const Message& message) override;
    void receive(const Message& message) override;
    void exchange(const std::vector<Message>& sends, const std::vector<Message>& receives) override;
    void flush() override;
    std::vector<int> others_that_failed(uint64_t number) override;

   private:
    using Work = c10::intrusive_ptr<c10d::Work>;

    // A message that the receiver has not taken yet, and the copy that is sent.
    struct Sent {
        at::Tensor copy;
        Work work;
    };

    void keep_until_taken(Sent sent);
    void await_takers();
    void require_sends_succeeded();

    const c10::intrusive_ptr<c10d::Backend> backend_;
    const c10::intrusive_ptr<c10d::Store> store_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<Sent> sent_;
    bool closing_ = false;
    std::string send_failure_;
    std::deque<at::Tensor> to_itself_;
    std::thread waiter_;  // started by the first send
};

}  // namespace torch_aclnn::host
