// A Group on a c10d::Backend: torch's ProcessGroupGloo, whose own header needs those of gloo, which torch does not install.
#pragma once

#include <torch/csrc/distributed/c10d/Store.hpp>

#include "engine/collectives/messages.h"
#include "engine/hccl/group.h"

namespace torch_aclnn::host {

class GlooGroup : public Group {
   public:
    // The store is the one in which the ranks met, which is in the process of the meeting rank.
    GlooGroup(c10::intrusive_ptr<c10d::Backend> backend, c10::intrusive_ptr<c10d::Store> store, int meeting_rank, bool compare);

    std::vector<OperationRecord> compare(const OperationRecord& own) override;

    void broadcast(void* data, size_t bytes, int root) override;
    void all_gather(const void* input, void* output, size_t bytes) override;
    void all_gather_parts(const void* input, void* output, const std::vector<Part>& parts) override;
    void scatter(const void* input, void* output, size_t bytes, int root) override;
    void all_to_all(const Parts& input, const Parts& output) override;
    void all_reduce(const void* input, void* output, uint64_t count, HcclDataType type, HcclReduceOp op) override;
    void reduce(const void* input, void* output, uint64_t count, HcclDataType type, HcclReduceOp op, int root) override;
    void reduce_scatter(const void* input, void* output, uint64_t count, HcclDataType type, HcclReduceOp op) override;
    void send(const Message& message) override;
    void set_refused(Refused refused) override;
    void receive(const Message& message) override;
    void exchange(const std::vector<Message>& sends, const std::vector<Message>& receives) override;
    void flush() override;
    void abandon() noexcept override;
    void report_failure(const std::string& operation) override;
    std::map<int, std::string> failures_of_others() override;
    int meeting_rank() const override { return meeting_rank_; }

   private:
    const int rank_, size_, meeting_rank_;
    const c10::intrusive_ptr<c10d::Store> store_;
    // It is null when the group is abandoned.
    c10::intrusive_ptr<c10d::Backend> backend_;
    std::unique_ptr<Messages> messages_;
};

}  // namespace torch_aclnn::host
