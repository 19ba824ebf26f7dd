#include "engine/collectives/gloo_group.h"

#include <c10/util/Logging.h>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <numeric>
#include <utility>

#include "engine/collectives/reduction.h"
#include "engine/collectives/tensors.h"
#include "engine/hccl/operation.h"
#include "engine/runtime/error/error.h"
#include "engine/runtime/memory/host_view.h"

namespace torch_aclnn::host {
namespace {

constexpr auto kMoment = std::chrono::milliseconds(500);
// Up to these sizes an all-reduce gives all to all: one exchange, and the fewest changes of thread. Between two ranks that moves no more
// bytes than any other way, but above the size Gloo is faster, whose thread reduces and sends while another receives.
constexpr size_t kLargestOfTwo = 1 << 20, kLargestOfMany = 1 << 14;

constexpr auto kPause = std::chrono::milliseconds(20);

// Returns the key under which a rank says what it was doing when it failed.
std::string failed_key(int rank) {
    return "failed/" + std::to_string(rank);
}

// Returns the key under which a rank says that it knows which others have failed.
std::string informed_key(int rank) {
    return "informed/" + std::to_string(rank);
}

// Returns false if the condition has not come true within a moment.
bool comes_true(auto&& condition) {
    const auto end = std::chrono::steady_clock::now() + kMoment;
    while (!condition()) {
        if (std::chrono::steady_clock::now() > end) return false;
        std::this_thread::sleep_for(kPause);
    }
    return true;
}

// While one lives, torch logs errors only: of a store that ends with the rank that has it, torch logs a stack of 20 lines.
class OnlyErrorsLogged {
   public:
    OnlyErrorsLogged() {
        const std::lock_guard<std::mutex> lock(mutex_);
        if (living_++ == 0) level_ = std::exchange(FLAGS_caffe2_log_level, std::max<int>(FLAGS_caffe2_log_level, c10::GLOG_ERROR));
    }
    ~OnlyErrorsLogged() {
        const std::lock_guard<std::mutex> lock(mutex_);
        if (--living_ == 0) FLAGS_caffe2_log_level = level_;
    }
    OnlyErrorsLogged(const OnlyErrorsLogged&) = delete;

   private:
    static inline std::mutex mutex_;
    static inline int living_ = 0, level_ = 0;
};

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
    with_gloo_errors([&] { start()->wait(); });
}

// Copies the input if it shares memory with the output, which would be written before the input is read.
at::Tensor apart_from(const at::Tensor& output, const at::Tensor& input) {
    const auto begin = [](const at::Tensor& tensor) { return static_cast<const char*>(tensor.const_data_ptr()); };
    const bool apart = begin(input) + input.nbytes() <= begin(output) || begin(output) + output.nbytes() <= begin(input);
    return apart ? input : input.clone();
}

}  // namespace

GlooGroup::GlooGroup(c10::intrusive_ptr<c10d::Backend> backend, c10::intrusive_ptr<c10d::Store> store, int meeting_rank, bool compare)
    : rank_(backend->getRank()),
      size_(backend->getSize()),
      meeting_rank_(meeting_rank),
      store_(std::move(store)),
      backend_(std::move(backend)),
      messages_(std::make_unique<Messages>(backend_, compare)) {}

void GlooGroup::send(const Message& message) {
    messages_->send(message);
}

void GlooGroup::set_refused(Refused refused) {
    messages_->set_refused(std::move(refused));
}

std::vector<OperationRecord> GlooGroup::compare(const OperationRecord& own) {
    return messages_->compare(own);
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
    if (host_view(input) != own.const_data_ptr()) std::memmove(own.mutable_data_ptr(), host_view(input), bytes);
    wait_for(*backend_, start_exchange(*backend_, Blocks(received.size(), own), received));
}

void GlooGroup::all_gather_parts(const void* input, void* output, const std::vector<Part>& parts) {
    char* const out = host_view(static_cast<char*>(output));
    const auto& own = parts[static_cast<size_t>(rank_)];
    if (own.bytes != 0) std::memmove(out + own.begin, host_view(input), own.bytes);
    for (int root = 0; root < size_; ++root)
        broadcast(out + parts[static_cast<size_t>(root)].begin, parts[static_cast<size_t>(root)].bytes, root);
}

void GlooGroup::scatter(const void* input, void* output, size_t bytes, int root) {
    if (bytes == 0) return;
    std::vector<at::Tensor> outputs{bytes_at(output, bytes)};
    std::vector<std::vector<at::Tensor>> inputs;
    if (rank_ == root) {
        inputs.emplace_back();
        for (int rank = 0; rank < size_; ++rank)
            inputs[0].push_back(
                apart_from(outputs[0], bytes_at(static_cast<const char*>(input) + bytes * static_cast<size_t>(rank), bytes)));
    }
    c10d::ScatterOptions options;
    options.rootRank = root;
    run([&] { return backend_->scatter(outputs, inputs, options); });
}

void GlooGroup::all_to_all(const Parts& input, const Parts& output) {
    const auto total = [](const Parts& parts) {
        return static_cast<size_t>(std::accumulate(parts.bytes.begin(), parts.bytes.end(), int64_t{0}));
    };
    at::Tensor received = bytes_at(output.data, total(output)), sent = apart_from(received, bytes_at(input.data, total(input)));
    auto sent_sizes = input.bytes, received_sizes = output.bytes;
    run([&] { return backend_->alltoall_base(received, sent, received_sizes, sent_sizes); });
}

void GlooGroup::all_reduce(const void* input, void* output, uint64_t count, HcclDataType type, HcclReduceOp op) {
    if (count == 0) return;
    const at::Tensor result = elements_at(output, count, type);
    if (input != output) std::memmove(result.mutable_data_ptr(), host_view(input), result.nbytes());
    if (result.nbytes() <= (size_ == 2 ? kLargestOfTwo : kLargestOfMany)) return all_reduce_all_at_once(*backend_, result, op);
    if (!computes_in_place(result)) return all_reduce_in_parts(*backend_, result, op);
    std::vector<at::Tensor> tensors{result};
    c10d::AllreduceOptions options;
    options.reduceOp = reduction_of(op);
    run([&] { return backend_->allreduce(tensors, options); });
}

void GlooGroup::reduce(const void* input, void* output, uint64_t count, HcclDataType type, HcclReduceOp op, int root) {
    if (count == 0) return;
    // This is a copy, because Gloo may leave partial results in the tensors of other ranks than the root.
    std::vector<at::Tensor> tensors{to_computed(elements_at(input, count, type), op)};
    c10d::ReduceOptions options;
    options.reduceOp = reduction_of(op);
    options.rootRank = root;
    run([&] { return backend_->reduce(tensors, options); });
    if (rank_ == root) from_computed(tensors[0], elements_at(output, count, type), op);
}

void GlooGroup::reduce_scatter(const void* input, void* output, uint64_t count, HcclDataType type, HcclReduceOp op) {
    if (count == 0) return;
    const at::Tensor result = elements_at(output, count, type);
    const at::Tensor sent = apart_from(result, elements_at(input, count * static_cast<uint64_t>(size_), type));
    reduce_scatter_blocks(*backend_, sent.tensor_split(size_), result, op);
}

// Gloo closes the connections with the last reference to them. Messages in flight hold one, so they are aborted first.
void GlooGroup::abandon() noexcept {
    if (messages_ == nullptr) return;
    messages_->abort();
    messages_.reset();
    backend_.reset();
}

void GlooGroup::report_failure(const std::string& operation) {
    const OnlyErrorsLogged here;
    store_->setTimeout(kMoment);
    store_->set(failed_key(rank_), std::vector<uint8_t>(operation.begin(), operation.end()));
}

// The meeting rank may end after this, and the store with it; so nobody goes on before all that failed are informed.
std::map<int, std::string> GlooGroup::failures_of_others() {
    const OnlyErrorsLogged here;
    std::map<int, std::string> failures;
    (void)comes_true([&] {
        for (int rank = 0; rank < size_; ++rank) {
            if (rank == rank_ || failures.count(rank) != 0 || !store_->check({failed_key(rank)})) continue;
            const auto operation = store_->get(failed_key(rank));
            failures.emplace(rank, std::string(operation.begin(), operation.end()));
        }
        return failures.size() + 1 == static_cast<size_t>(size_);
    });
    try {
        store_->set(informed_key(rank_), std::vector<uint8_t>{1});
        (void)comes_true([&] {
            return std::all_of(failures.begin(), failures.end(),
                               [&](const auto& failure) { return store_->check({informed_key(failure.first)}); });
        });
    } catch (const std::exception&) {
        // The meeting rank was informed, and has ended.
    }
    return failures;
}

}  // namespace torch_aclnn::host
