#include "engine/collectives/gloo_group.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "engine/collectives/tensors.h"
#include "engine/runtime/error/error.h"

namespace torch_aclnn::host {
namespace {

constexpr int kTag = 0;

c10d::ReduceOp reduction_of(HcclReduceOp op) {
    switch (op) {
        case HCCL_REDUCE_PROD: return c10d::ReduceOp::PRODUCT;
        case HCCL_REDUCE_MAX: return c10d::ReduceOp::MAX;
        case HCCL_REDUCE_MIN: return c10d::ReduceOp::MIN;
        default: return c10d::ReduceOp::SUM;
    }
}

// Gloo's errors have no codes, only texts.
[[noreturn]] void rethrow(const std::exception& error) {
    const std::string message = error.what();
    const bool timeout = message.find("imed out") != std::string::npos || message.find("imeout") != std::string::npos;
    throw Error(timeout ? HCCL_E_TIMEOUT : HCCL_E_REMOTE, message);
}

template <class Start>
void run(Start&& start) {
    try {
        start()->wait();
    } catch (const Error&) {
        throw;
    } catch (const std::exception& error) {
        rethrow(error);
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

GlooGroup::GlooGroup(c10::intrusive_ptr<c10d::Backend> backend, c10::intrusive_ptr<c10d::Store> store)
    : backend_(std::move(backend)), store_(std::move(store)) {}

GlooGroup::~GlooGroup() {
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        closing_ = true;
        changed_.notify_all();
    }
    if (waiter_.joinable()) waiter_.join();
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
    const auto own = static_cast<char*>(output) + bytes * static_cast<size_t>(backend_->getRank());
    at::Tensor sent = bytes_at(input, bytes);
    if (input == own) sent = sent.clone();
    at::Tensor received = bytes_at(output, bytes * static_cast<size_t>(backend_->getSize()));
    run([&] { return backend_->_allgather_base(received, sent); });
}

void GlooGroup::scatter(const void* input, void* output, size_t bytes, int root) {
    if (bytes == 0) return;
    std::vector<at::Tensor> outputs{bytes_at(output, bytes)};
    std::vector<std::vector<at::Tensor>> inputs;
    if (backend_->getRank() == root) {
        inputs.emplace_back();
        for (int rank = 0; rank < backend_->getSize(); ++rank)
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
    if (backend_->getRank() == root) from_computed(tensors[0], elements_at(output, count, type), op);
}

void GlooGroup::reduce_scatter(const void* input, void* output, uint64_t count, HcclDataType type, HcclReduceOp op) {
    if (count == 0) return;
    const auto ranks = static_cast<uint64_t>(backend_->getSize());
    at::Tensor sent = elements_at(input, count * ranks, type), result = elements_at(output, count, type);
    c10d::ReduceScatterOptions options;
    options.reduceOp = reduction_of(op);
    if (computes_in_place(result)) return run([&] { return backend_->_reduce_scatter_base(result, sent, options); });
    at::Tensor computed = to_computed(sent, op), reduced = at::empty({static_cast<int64_t>(count)}, computed.options());
    run([&] { return backend_->_reduce_scatter_base(reduced, computed, options); });
    from_computed(reduced, result, op);
}

void GlooGroup::send(const Message& message) {
    require_sends_succeeded();
    Sent sent{bytes_at(message.data, message.bytes).clone(), nullptr};
    if (message.peer == backend_->getRank()) return to_itself_.push_back(sent.copy);
    std::vector<at::Tensor> tensors{sent.copy};
    try {
        sent.work = backend_->send(tensors, message.peer, kTag);
    } catch (const std::exception& error) {
        rethrow(error);
    }
    keep_until_taken(std::move(sent));
}

void GlooGroup::receive(const Message& message) {
    std::vector<at::Tensor> tensors{bytes_at(message.data, message.bytes)};
    if (message.peer != backend_->getRank()) return run([&] { return backend_->recv(tensors, message.peer, kTag); });
    if (to_itself_.empty()) throw Error(HCCL_E_PARA, "a rank receives from itself what it has not sent");
    if (to_itself_.front().nbytes() != message.bytes)
        throw Error(HCCL_E_PARA, "a rank receives from itself another number of bytes than it has sent");
    tensors[0].copy_(to_itself_.front());
    to_itself_.pop_front();
}

void GlooGroup::exchange(const std::vector<Message>& sends, const std::vector<Message>& receives) {
    require_sends_succeeded();
    std::vector<Work> works;
    const auto start = [&](const Message& message, auto method) {
        std::vector<at::Tensor> tensors{bytes_at(message.data, message.bytes)};
        works.push_back(((*backend_).*method)(tensors, message.peer, kTag));
    };
    try {
        for (const auto& message : sends)
            if (message.peer == backend_->getRank()) send(message);
        for (const auto& message : receives)
            if (message.peer == backend_->getRank()) receive(message);
            else start(message, &c10d::Backend::recv);
        for (const auto& message : sends)
            if (message.peer != backend_->getRank()) start(message, &c10d::Backend::send);
        for (const auto& work : works) work->wait();
    } catch (const Error&) {
        throw;
    } catch (const std::exception& error) {
        rethrow(error);
    }
}

void GlooGroup::flush() {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [this] { return sent_.empty(); });
    lock.unlock();
    require_sends_succeeded();
}

std::vector<int> GlooGroup::others_that_failed(uint64_t number) {
    constexpr auto kMoment = std::chrono::milliseconds(500), kPause = std::chrono::milliseconds(50);
    const auto key = [number](int rank) { return "failed/" + std::to_string(number) + "/" + std::to_string(rank); };
    store_->setTimeout(kMoment);
    store_->set(key(backend_->getRank()), std::vector<uint8_t>{1});
    std::vector<int> found;
    for (auto left = kMoment; left.count() > 0 && found.size() + 1 < static_cast<size_t>(backend_->getSize()); left -= kPause) {
        std::this_thread::sleep_for(kPause);
        found.clear();
        for (int rank = 0; rank < backend_->getSize(); ++rank)
            if (rank != backend_->getRank() && store_->check({key(rank)})) found.push_back(rank);
    }
    return found;
}

void GlooGroup::keep_until_taken(Sent sent) {
    const std::lock_guard<std::mutex> lock(mutex_);
    sent_.push_back(std::move(sent));
    if (!waiter_.joinable()) waiter_ = std::thread([this] { await_takers(); });
    changed_.notify_all();
}

void GlooGroup::await_takers() {
    std::unique_lock<std::mutex> lock(mutex_);
    while (true) {
        changed_.wait(lock, [this] { return closing_ || !sent_.empty(); });
        if (sent_.empty()) return;
        const Work work = sent_.front().work;
        lock.unlock();
        std::string failure;
        try {
            work->wait();
        } catch (const std::exception& error) {
            failure = error.what();
        }
        lock.lock();
        if (send_failure_.empty()) send_failure_ = failure;
        sent_.pop_front();
        changed_.notify_all();
    }
}

void GlooGroup::require_sends_succeeded() {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!send_failure_.empty()) throw Error(HCCL_E_REMOTE, "an earlier HcclSend was not taken: " + send_failure_);
}

}  // namespace torch_aclnn::host
