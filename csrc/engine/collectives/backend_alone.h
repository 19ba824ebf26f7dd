// Stands in for a ProcessGroupGloo whose peers are not there, for tensors on the CPU: each rank is taken to hold what this one holds.
#pragma once

#include <torch/csrc/distributed/c10d/Backend.hpp>

namespace torch_aclnn::host {

class BackendAlone : public c10d::Backend {
   public:
    using Tensors = std::vector<at::Tensor>;
    using Done = c10::intrusive_ptr<c10d::Work>;

    BackendAlone(int rank, int size, std::chrono::milliseconds timeout)
        : Backend(rank, size), options_(c10::make_intrusive<Options>("gloo", timeout)) {}

    c10::intrusive_ptr<Options> options() const { return options_; }
    const std::string getBackendName() const override { return options_->backend; }

    Done broadcast(Tensors& tensors, const c10d::BroadcastOptions& options) override;
    Done allreduce(Tensors& tensors, const c10d::AllreduceOptions& options) override;
    Done allreduce_coalesced(Tensors& tensors, const c10d::AllreduceCoalescedOptions& options) override;
    Done reduce(Tensors& tensors, const c10d::ReduceOptions& options) override;
    Done allgather(std::vector<Tensors>& outputs, Tensors& inputs, const c10d::AllgatherOptions& options) override;
    Done allgather_coalesced(std::vector<Tensors>& outputs, Tensors& inputs, const c10d::AllgatherOptions& options) override;
    Done _allgather_base(at::Tensor& output, at::Tensor& input, const c10d::AllgatherOptions& options) override;
    Done allgather_into_tensor_coalesced(Tensors& outputs, Tensors& inputs, const c10d::AllgatherOptions& options) override;
    Done gather(std::vector<Tensors>& outputs, Tensors& inputs, const c10d::GatherOptions& options) override;
    Done scatter(Tensors& outputs, std::vector<Tensors>& inputs, const c10d::ScatterOptions& options) override;
    Done reduce_scatter(Tensors& outputs, std::vector<Tensors>& inputs, const c10d::ReduceScatterOptions& options) override;
    Done _reduce_scatter_base(at::Tensor& output, at::Tensor& input, const c10d::ReduceScatterOptions& options) override;
    Done reduce_scatter_tensor_coalesced(Tensors& outputs, Tensors& inputs, const c10d::ReduceScatterOptions& options) override;
    Done alltoall(Tensors& outputs, Tensors& inputs, const c10d::AllToAllOptions& options) override;
    Done alltoall_base(at::Tensor& output, at::Tensor& input, std::vector<int64_t>& output_sizes, std::vector<int64_t>& input_sizes,
                       const c10d::AllToAllOptions& options) override;
    Done send(Tensors& tensors, int peer, int tag) override;
    Done recv(Tensors& tensors, int peer, int tag) override;
    Done recvAnysource(Tensors& tensors, int tag) override;
    Done barrier(const c10d::BarrierOptions& options) override;
    void monitoredBarrier(const c10d::BarrierOptions&, bool) override {}
    void setSequenceNumberForGroup() override {}
    uint64_t getSequenceNumberForGroup() override { return collectives_; }

   private:
    Done done(Tensors results = {});
    void reduce_in_place(const at::Tensor& tensor, const c10d::ReduceOp& op) const;
    at::Tensor own_part(const at::Tensor& input) const { return input.tensor_split(size_)[static_cast<size_t>(rank_)]; }

    const c10::intrusive_ptr<Options> options_;
    uint64_t collectives_ = 0;
};

}  // namespace torch_aclnn::host
