#include "engine/aten/adapter/collective.h"

#include <ATen/ATen.h>

namespace torch_aclnn::host::aten {

static HcclDataType hccl_type_of(at::ScalarType type) {
    switch (type) {
        case at::kHalf: return HCCL_DATA_TYPE_FP16;
        case at::kBFloat16: return HCCL_DATA_TYPE_BFP16;
        case at::kChar: return HCCL_DATA_TYPE_INT8;
        case at::kInt: return HCCL_DATA_TYPE_INT32;
        default: return HCCL_DATA_TYPE_FP32;
    }
}

static std::vector<Buffer> buffers_of(const aclOpExecutor& executor) {
    std::vector<Buffer> buffers;
    for (const MemoryAccess& access : executor.accesses()) buffers.push_back({access.name, access.data, access.bytes, !access.is_write});
    return buffers;
}

void Collective::set_record(OperationKind kind, const at::Tensor& tensor, int op) {
    set_record(kind, tensor.scalar_type(), tensor.numel(), op);
}
void Collective::set_record(OperationKind kind, at::ScalarType type, int64_t count, int op) {
    record_ = {kind, hccl_type_of(type), static_cast<uint64_t>(count), -1, op};
}

void Collective::launch(aclrtStream stream, const std::shared_ptr<aclOpExecutor>& executor) {
    Operation operation{record_, {}, {}, buffers_of(*executor), [executor] { executor->skip(); }, executor->entry_point};
    ranks_.launch(std::move(operation), stream, [this, executor](Group& group) {
        group_ = &group;
        executor->run();
    });
}

std::shared_ptr<const Windows> Collective::windows() const {
    return ranks_.windows();
}

at::Tensor Collective::all_reduce(const at::Tensor& summand) const {
    at::Tensor sum = at::empty_like(summand);
    group_->all_reduce(summand.const_data_ptr(), sum.mutable_data_ptr(), static_cast<uint64_t>(sum.numel()), HCCL_DATA_TYPE_FP32,
                       HCCL_REDUCE_SUM);
    return sum;
}

at::Tensor Collective::reduce_scatter(const at::Tensor& summand) const {
    at::Tensor sum = at::empty({summand.size(0) / size(), summand.size(1)}, summand.options());
    group_->reduce_scatter(summand.const_data_ptr(), sum.mutable_data_ptr(), static_cast<uint64_t>(sum.numel()), HCCL_DATA_TYPE_FP32,
                           HCCL_REDUCE_SUM);
    return sum;
}

at::Tensor Collective::all_gather(const at::Tensor& rows) const {
    at::Tensor all = at::empty({rows.size(0) * size(), rows.size(1)}, rows.options());
    group_->all_gather(rows.const_data_ptr(), all.mutable_data_ptr(), rows.nbytes());
    return all;
}

void Collective::barrier() const {
    all_gather(at::zeros({1, 1}, at::kChar));
}

at::Tensor Collective::all_to_all(const at::Tensor& rows, at::IntArrayRef sent, at::IntArrayRef received) const {
    at::DimVector sizes(rows.sizes());
    sizes[0] = std::accumulate(received.begin(), received.end(), int64_t{0});
    at::Tensor all = at::empty(sizes, rows.options());
    const int64_t row = all.stride(0) * all.element_size();
    const auto parts_of = [row](void* data, at::IntArrayRef counts) {
        Parts parts{data, counts.vec()};
        for (int64_t& bytes : parts.bytes) bytes *= row;
        return parts;
    };
    const at::Tensor given = rows.contiguous();
    group_->all_to_all(parts_of(given.data_ptr(), sent), parts_of(all.data_ptr(), received));
    return all;
}

void require_ranks(const char* name, int64_t ranks, const Collective& group) {
    if (ranks != group.size()) refuse(name, c10::str(group.size(), ", as the communicator has ranks"), std::to_string(ranks));
}

void require_parts(const char* name, int64_t count, const Collective& group) {
    if (count % group.size() != 0)
        refuse(name, c10::str("as many rows or columns for each of ", group.size(), " ranks"), std::to_string(count));
}

std::shared_ptr<Collective> read_group(const char* name, const char* group) {
    if (group == nullptr) refuse_null(name, "the name of a communicator");
    try {
        return std::make_shared<Collective>(Ranks(group));
    } catch (const Error&) {
        refuse(name, "the name of a communicator of this process and device", c10::str('"', group, '"'));
    }
}

}  // namespace torch_aclnn::host::aten
