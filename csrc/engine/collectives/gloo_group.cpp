#include "engine/collectives/gloo_group.h"

#include <cstring>
#include <numeric>
#include <thread>

#include "engine/collectives/gloo_error.h"
#include "engine/collectives/tensors.h"
#include "engine/runtime/error/error.h"

namespace torch_aclnn::host {
namespace {

constexpr auto kMoment = std::chrono::milliseconds(500);

std::string failure_key(uint64_t number, int rank) {
    return "failed/" + std::to_string(number) + "/" + std::to_string(rank);
}

c10d::ReduceOp reduction_of(HcclReduceOp op) {
    switch (op) {
        case HCCL_REDUCE_PROD: return c10d::ReduceOp::PRODUCT;
        case HCCL_REDUCE_MAX: return c10d::ReduceOp::MAX;
        case HCCL_REDUCE_MIN: return c10d::ReduceOp::MIN;
        default: return c10d::ReduceOp::SUM;
    }
}

template <class Start>
void run(Start&& start) {
    try {
        start()->wait();
    } catch (const Error&) {
        throw;
    } catch (const std::exception& error) {
        throw_gloo_error(error);
    }
}

// Gloo reduces in place, in the tensors that it can compute with.
bool computes_in_place(const at::Tensor& elements) {
    switch (elements.scalar_type()) {
        case at::kChar:
        case at::kByte:
        case at::kInt:
        case at::kLong:
        case at::kFloat:
        case at::kDouble: return true;
        default: return false;
    }
}

}  // namespace

GlooGroup::GlooGroup(c10::intrusive_ptr<c10d::Backend> backend, c10::intrusive_ptr<c10d::Store> store, bool compare)
    : rank_(backend->getRank()),
      size_(backend->getSize()),
      store_(std::move(store)),
      backend_(std::move(backend)),
      messages_(std::make_unique<Messages>(backend_, compare)) {}

void GlooGroup::send(const Message& message) {
    messages_->send(message);
}

void GlooGroup::receive(const Message& message) {
    messages_->exchange({}, {message});
}

void GlooGroup::exchange(const std::vector<Message>& sends, const std::vector<Message>& receives) {
    messages_->exchange(sends, receives);
}

void GlooGroup::flush() {
    if (messages_ != nullptr) messages_->flush();
}

void GlooGroup::broadcast(void* data, size_t bytes, int root) {
    if (bytes == 0) return;
    std::vector<at::Tensor> tensors{bytes_at(data, bytes)};
    c10d::BroadcastOptions options;
    options.rootRank = root;
    run([&] { return backend_->broadcast(tensors, options); });
}

void GlooGroup::all_gather(const void* input, void* output, size_t bytes) {
    if (bytes == 0) return;
    // In place is allowed, which Gloo does not promise.
    const auto own = static_cast<char*>(output) + bytes * static_cast<size_t>(rank_);
    at::Tensor sent = bytes_at(input, bytes);
    if (input == own) sent = sent.clone();
    at::Tensor received = bytes_at(output, bytes * static_cast<size_t>(size_));
    run([&] { return backend_->_allgather_base(received, sent); });
}

void GlooGroup::scatter(const void* input, void* output, size_t bytes, int root) {
    if (bytes == 0) return;
    std::vector<at::Tensor> outputs{bytes_at(output, bytes)};
    std::vector<std::vector<at::Tensor>> inputs;
    if (rank_ == root) {
        inputs.emplace_back();
        for (int rank = 0; rank < size_; ++rank)
            inputs[0].push_back(bytes_at(static_cast<const char*>(input) + bytes * static_cast<size_t>(rank), bytes));
    }
    c10d::ScatterOptions options;
    options.rootRank = root;
    run([&] { return backend_->scatter(outputs, inputs, options); });
}

void GlooGroup::all_to_all(const Parts& input, const Parts& output) {
    const auto total = [](const Parts& parts) {
        return static_cast<size_t>(std::accumulate(parts.bytes.begin(), parts.bytes.end(), int64_t{0}));
    };
    at::Tensor sent = bytes_at(input.data, total(input)), received = bytes_at(output.data, total(output));
    auto sent_sizes = input.bytes, received_sizes = output.bytes;
    run([&] { return backend_->alltoall_base(received, sent, received_sizes, sent_sizes); });
}

void GlooGroup::all_reduce(const void* input, void* output, uint64_t count, HcclDataType type, HcclReduceOp op) {
    if (count == 0) return;
    const auto result = elements_at(output, count, type);
    c10d::AllreduceOptions options;
    options.reduceOp = reduction_of(op);
    if (computes_in_place(result)) {
        if (input != output) std::memmove(output, input, result.nbytes());
        std::vector<at::Tensor> tensors{result};
        return run([&] { return backend_->allreduce(tensors, options); });
    }
    std::vector<at::Tensor> tensors{to_computed(elements_at(input, count, type), op)};
    run([&] { return backend_->allreduce(tensors, options); });
    from_computed(tensors[0], result, op);
}

void GlooGroup::reduce(const void* input, void* output, uint64_t count, HcclDataType type, HcclReduceOp op, int root) {
    if (count == 0) return;
    // A copy, because Gloo may leave partial results in the tensors of other ranks than the root.
    std::vector<at::Tensor> tensors{to_computed(elements_at(input, count, type), op)};
    c10d::ReduceOptions options;
    options.reduceOp = reduction_of(op);
    options.rootRank = root;
    run([&] { return backend_->reduce(tensors, options); });
    if (rank_ == root) from_computed(tensors[0], elements_at(output, count, type), op);
}

void GlooGroup::reduce_scatter(const void* input, void* output, uint64_t count, HcclDataType type, HcclReduceOp op) {
    if (count == 0) return;
    const auto ranks = static_cast<uint64_t>(size_);
    at::Tensor sent = elements_at(input, count * ranks, type), result = elements_at(output, count, type);
    c10d::ReduceScatterOptions options;
    options.reduceOp = reduction_of(op);
    if (computes_in_place(result)) return run([&] { return backend_->_reduce_scatter_base(result, sent, options); });
    at::Tensor computed = to_computed(sent, op), reduced = at::empty({static_cast<int64_t>(count)}, computed.options());
    run([&] { return backend_->_reduce_scatter_base(reduced, computed, options); });
    from_computed(reduced, result, op);
}

void GlooGroup::report_failure(uint64_t number) {
    store_->setTimeout(kMoment);
    store_->set(failure_key(number, rank_), std::vector<uint8_t>{1});
}

std::vector<int> GlooGroup::others_that_failed(uint64_t number) {
    constexpr auto kPause = std::chrono::milliseconds(50);
    std::vector<int> found;
    for (auto left = kMoment; left.count() > 0 && found.size() + 1 < static_cast<size_t>(size_); left -= kPause) {
        std::this_thread::sleep_for(kPause);
        found.clear();
        for (int rank = 0; rank < size_; ++rank)
            if (rank != rank_ && store_->check({failure_key(number, rank)})) found.push_back(rank);
    }
    return found;
}

// Gloo closes the connections when the last reference goes, which messages on their way still have.
void GlooGroup::abandon() noexcept {
    if (messages_ == nullptr || !messages_->idle()) return;
    messages_.reset();
    backend_.reset();
}

}  // namespace torch_aclnn::host
