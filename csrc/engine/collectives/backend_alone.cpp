#include "engine/collectives/backend_alone.h"

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/ivalue.h>

namespace torch_aclnn::host {
namespace {

using Tensors = BackendAlone::Tensors;

// Work that is complete when it is returned.
class WorkAlone : public c10d::Work {
   public:
    explicit WorkAlone(Tensors results)
        : results_(std::move(results)), future_(c10::make_intrusive<c10::ivalue::Future>(c10::ListType::create(c10::TensorType::get()))) {
        future_->markCompleted(c10::IValue(results_));
    }

    bool isCompleted() override { return true; }
    bool isSuccess() const override { return true; }
    bool wait(std::chrono::milliseconds) override { return true; }
    void synchronize() override {}
    Tensors result() override { return results_; }
    c10::intrusive_ptr<c10::ivalue::Future> getFuture() override { return future_; }

   private:
    const Tensors results_;
    const c10::intrusive_ptr<c10::ivalue::Future> future_;
};

// Hides writes from autograd, as those of another rank are hidden from it.
using Unseen = at::AutoDispatchBelowADInplaceOrView;

// Copies what another rank gives, which may be shorter or longer than what this one has; the rest is unknown.
void give(const at::Tensor& output, const at::Tensor& input) {
    const Unseen unseen;
    const auto known = std::min(output.numel(), input.numel());
    const auto flat = output.view(-1);
    flat.narrow(0, 0, known).copy_(input.reshape(-1).narrow(0, 0, known));
    flat.narrow(0, known, output.numel() - known).zero_();
}

}  // namespace

BackendAlone::Done BackendAlone::done(Tensors results) {
    ++collectives_;
    return c10::make_intrusive<WorkAlone>(std::move(results));
}

void BackendAlone::reduce_in_place(const at::Tensor& tensor, const c10d::ReduceOp& op) const {
    const Unseen unseen;
    if (op == c10d::ReduceOp::SUM && tensor.scalar_type() != at::kBool) tensor.mul_(size_);
    if (op == c10d::ReduceOp::PRODUCT && tensor.scalar_type() != at::kBool) tensor.pow_(size_);
    if (op == c10d::ReduceOp::BXOR && size_ % 2 == 0) tensor.zero_();
}

BackendAlone::Done BackendAlone::broadcast(Tensors& tensors, const c10d::BroadcastOptions&) {
    return done(tensors);
}

BackendAlone::Done BackendAlone::allreduce(Tensors& tensors, const c10d::AllreduceOptions& options) {
    for (const auto& tensor : tensors) reduce_in_place(tensor, options.reduceOp);
    return done(tensors);
}

BackendAlone::Done BackendAlone::allreduce_coalesced(Tensors& tensors, const c10d::AllreduceCoalescedOptions& options) {
    return allreduce(tensors, options);
}

BackendAlone::Done BackendAlone::reduce(Tensors& tensors, const c10d::ReduceOptions& options) {
    if (options.rootRank == rank_)
        for (const auto& tensor : tensors) reduce_in_place(tensor, options.reduceOp);
    return done(tensors);
}

BackendAlone::Done BackendAlone::allgather(std::vector<Tensors>& outputs, Tensors& inputs, const c10d::AllgatherOptions&) {
    for (size_t i = 0; i < inputs.size(); ++i)
        for (const auto& output : outputs[i]) give(output, inputs[i]);
    return done(outputs.empty() ? Tensors{} : outputs[0]);
}

// outputs[i] has the outputs of one rank.
BackendAlone::Done BackendAlone::allgather_coalesced(std::vector<Tensors>& outputs, Tensors& inputs, const c10d::AllgatherOptions&) {
    for (const auto& of_rank : outputs)
        for (size_t i = 0; i < inputs.size(); ++i) give(of_rank[i], inputs[i]);
    return done();
}

BackendAlone::Done BackendAlone::_allgather_base(at::Tensor& output, at::Tensor& input, const c10d::AllgatherOptions&) {
    for (const auto& part : output.view(-1).tensor_split(size_)) give(part, input);
    return done({output});
}

BackendAlone::Done BackendAlone::allgather_into_tensor_coalesced(Tensors& outputs, Tensors& inputs, const c10d::AllgatherOptions& options) {
    for (size_t i = 0; i < inputs.size(); ++i) (void)_allgather_base(outputs[i], inputs[i], options);
    return done(outputs);
}

BackendAlone::Done BackendAlone::gather(std::vector<Tensors>& outputs, Tensors& inputs, const c10d::GatherOptions& options) {
    if (options.rootRank == rank_)
        for (const auto& output : outputs.at(0)) give(output, inputs.at(0));
    return done(outputs.empty() ? Tensors{} : outputs[0]);
}

BackendAlone::Done BackendAlone::scatter(Tensors& outputs, std::vector<Tensors>& inputs, const c10d::ScatterOptions& options) {
    if (options.rootRank == rank_)
        give(outputs.at(0), inputs.at(0).at(static_cast<size_t>(rank_)));
    else
        outputs.at(0).zero_();
    return done(outputs);
}

BackendAlone::Done BackendAlone::reduce_scatter(Tensors& outputs, std::vector<Tensors>& inputs, const c10d::ReduceScatterOptions& options) {
    for (size_t i = 0; i < outputs.size(); ++i) {
        give(outputs[i], inputs[i].at(static_cast<size_t>(rank_)));
        reduce_in_place(outputs[i], options.reduceOp);
    }
    return done(outputs);
}

BackendAlone::Done BackendAlone::_reduce_scatter_base(at::Tensor& output, at::Tensor& input, const c10d::ReduceScatterOptions& options) {
    give(output, own_part(input.view(-1)));
    reduce_in_place(output, options.reduceOp);
    return done({output});
}

BackendAlone::Done BackendAlone::reduce_scatter_tensor_coalesced(Tensors& outputs, Tensors& inputs,
                                                                 const c10d::ReduceScatterOptions& options) {
    for (size_t i = 0; i < inputs.size(); ++i) (void)_reduce_scatter_base(outputs[i], inputs[i], options);
    return done(outputs);
}

// Every other rank is assumed to send what this rank sends to itself.
BackendAlone::Done BackendAlone::alltoall(Tensors& outputs, Tensors& inputs, const c10d::AllToAllOptions&) {
    const at::Tensor own = inputs.at(static_cast<size_t>(rank_)).clone();
    for (const auto& output : outputs) give(output, own);
    return done(outputs);
}

BackendAlone::Done BackendAlone::alltoall_base(at::Tensor& output, at::Tensor& input, std::vector<int64_t>& output_sizes,
                                               std::vector<int64_t>& input_sizes, const c10d::AllToAllOptions& options) {
    const auto parts = [this](const at::Tensor& tensor, const std::vector<int64_t>& sizes) {
        return sizes.empty() ? tensor.tensor_split(size_) : tensor.split_with_sizes(sizes);
    };
    Tensors outputs = parts(output, output_sizes), inputs = parts(input, input_sizes);
    return alltoall(outputs, inputs, options);
}

BackendAlone::Done BackendAlone::send(Tensors&, int, int) {
    return done();
}

// Writes zeros, because what another rank sends is not known.
BackendAlone::Done BackendAlone::recv(Tensors& tensors, int, int) {
    for (const auto& tensor : tensors) tensor.zero_();
    return done(tensors);
}

BackendAlone::Done BackendAlone::recvAnysource(Tensors& tensors, int tag) {
    return recv(tensors, rank_, tag);
}

BackendAlone::Done BackendAlone::barrier(const c10d::BarrierOptions&) {
    return done();
}

}  // namespace torch_aclnn::host
