#include "engine/collectives/gloo_group.h"

#include <cstring>
#include <numeric>
#include <thread>

#include "engine/collectives/gloo_error.h"
#include "engine/collectives/reduction.h"
#include "engine/collectives/tensors.h"
#include "engine/hccl/operation.h"
#include "engine/runtime/error/error.h"

namespace torch_aclnn::host {
namespace {

constexpr auto kMoment = std::chrono::milliseconds(500);
// Up to here an all-reduce gives all to all: one exchange, and the fewest changes of thread. Between two ranks that moves no more bytes
// than any other way, but above it Gloo is faster, whose thread reduces and sends while another receives.
constexpr size_t kLargestOfTwo = 1 << 20, kLargestOfMany = 1 << 14;

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

}  // namespace

GlooGroup::GlooGroup(c10::intrusive_ptr<c10d::Backend> backend, c10::intrusive_ptr<c10d::Store> store, bool compare)
    : rank_(backend->getRank()),
      size_(backend->getSize()),
      store_(std::move(store)),
      backend_(std::move(backend)),
      messages_(std::make_unique<Messages>(backend_, compare)),
      records_(compare ? std::make_unique<RecordExchange>(*backend_, sizeof(OperationRecord)) : nullptr) {}

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
    const Blocks received = bytes_at(output, bytes * static_cast<size_t>(size_)).tensor_split(size_);
    const at::Tensor& own = received[static_cast<size_t>(rank_)];
    if (input != own.const_data_ptr()) std::memmove(own.mutable_data_ptr(), input, bytes);
    wait_for(start_exchange(*backend_, Blocks(received.size(), own), received));
}

void GlooGroup::exchange_records(const OperationRecord& own, std::vector<OperationRecord>& all) {
    records_->exchange(*backend_, &own, all.data());
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
    const at::Tensor result = elements_at(output, count, type);
    if (input != output) std::memmove(output, input, result.nbytes());
    if (result.nbytes() <= (size_ == 2 ? kLargestOfTwo : kLargestOfMany)) return all_reduce_all_at_once(*backend_, result, op);
    if (!computes_in_place(result)) return all_reduce_in_parts(*backend_, result, op);
    std::vector<at::Tensor> tensors{result};
    c10d::AllreduceOptions options;
    options.reduceOp = reduction_of(op);
    run([&] { return backend_->allreduce(tensors, options); });
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
    const at::Tensor sent = elements_at(input, count * static_cast<uint64_t>(size_), type);
    reduce_scatter_blocks(*backend_, sent.tensor_split(size_), elements_at(output, count, type), op);
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
    records_.reset();
    backend_.reset();
}

}  // namespace torch_aclnn::host
