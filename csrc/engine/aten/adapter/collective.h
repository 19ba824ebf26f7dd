// Operators that compute and communicate in one: their argument `group` names a communicator, on whose thread they run.
#pragma once

#include "engine/aten/adapter/kinds.h"
#include "engine/hccl/ranks.h"
#include "engine/opapi/executor.h"

namespace torch_aclnn::host::aten {

using host::OperationKind;

class Collective {
   public:
    explicit Collective(Ranks ranks) : ranks_(std::move(ranks)) {}

    int64_t size() const { return ranks_.size(); }
    int64_t rank() const { return ranks_.rank(); }
    // Sets what the ranks compare before they run. Phase 1 calls it last.
    void set_record(OperationKind kind, const at::Tensor& tensor, int op);
    void set_record(OperationKind kind, at::ScalarType type, int64_t count, int op = -1);
    void launch(aclrtStream stream, const std::shared_ptr<aclOpExecutor>& executor);

    // Returns, for the body, this rank's window and those of other ranks that it writes into. HCCL_E_PARA if there are none.
    std::shared_ptr<const Windows> windows() const;
    // The body calls these functions. The tensors are contiguous, and sums are of float32.
    at::Tensor all_reduce(const at::Tensor& summand) const;
    // Returns this rank's rows of the sum.
    at::Tensor reduce_scatter(const at::Tensor& summand) const;
    at::Tensor all_gather(const at::Tensor& rows) const;
    void barrier() const;
    // Sends `sent[r]` of the rows, in the order of the ranks, to each rank r, and returns those that come from the ranks, in the same
    // order.
    at::Tensor all_to_all(const at::Tensor& rows, at::IntArrayRef sent, at::IntArrayRef received) const;

   private:
    Ranks ranks_;
    OperationRecord record_{};
    Group* group_ = nullptr;
};

using RanksGroup = std::shared_ptr<Collective>;

// 161002 unless the communicator has this number of ranks, and an equal number of rows or columns for each.
void require_ranks(const char* name, int64_t ranks, const Collective& group);
void require_parts(const char* name, int64_t count, const Collective& group);

std::shared_ptr<Collective> read_group(const char* name, const char* group);

namespace kind {
struct CommGroup : Kind<const char*, std::shared_ptr<Collective>, const std::shared_ptr<Collective>&, read_group> {
    static void set_launch(aclOpExecutor& executor, const std::shared_ptr<Collective>& group) {
        executor.launch = [group](aclrtStream stream, const std::shared_ptr<aclOpExecutor>& shared) { group->launch(stream, shared); };
    }
};
}  // namespace kind

}  // namespace torch_aclnn::host::aten
