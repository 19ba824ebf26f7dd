#include "engine/aten/numerics/temporaries.h"

#include <c10/core/CPUAllocator.h>
#include <pthread.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

namespace torch_aclnn::host::aten {
namespace {

// malloc keeps blocks that are smaller.
constexpr size_t kLargeBytes = size_t{64} << 10;
// The limit of kept memory: enough for the temporaries of one adapter after another, not for those of a whole network.
constexpr size_t kKeptBytes = size_t{512} << 20;

// The alignment that vectors and oneDNN expect.
constexpr uintptr_t kAlignment = 64;

thread_local bool kept_here = false;

struct Output {
    void* memory;
    size_t bytes;
    size_t& turn;  // the number of the tensor of this size that takes the memory
    bool is_taken = false;
    std::vector<void*> made = {};  // the memory of all tensors of this size
};
thread_local std::vector<Output> outputs_here;

// Returns the memory of an output of that size whose turn it is, or null.
void* take_output(size_t bytes) {
    for (Output& output : outputs_here)
        if (output.bytes == bytes && output.made.size() == output.turn && !std::exchange(output.is_taken, true)) return output.memory;
    return nullptr;
}

size_t& turn_of(const Use& use) {
    constexpr size_t kMostTurns = 4096;
    thread_local std::map<Use, size_t> turns;
    if (turns.size() > kMostTurns && outputs_here.empty()) turns.clear();
    return turns[use];
}

struct Block {
    c10::DataPtr memory;
    size_t bytes;
};

// Blocks of torch's memory, which are in use or left, and outputs in use, which are not kept. Blocks that were left last are in the caches,
// so they are taken first, and the oldest are given back first.
class Blocks {
   public:
    // Holds the lock over a fork, so that no thread that does not exist in the child holds it there.
    Blocks() {
        pthread_atfork([] { blocks().mutex_.lock(); }, [] { blocks().mutex_.unlock(); }, [] { blocks().mutex_.unlock(); });
    }

    void* take(size_t bytes, c10::Allocator& of_torch) {
        const std::lock_guard lock(mutex_);
        Block block{{take_output(bytes), c10::Device(c10::kCPU)}, 0};
        if (!block.memory) block = take_left(bytes);
        if (!block.memory) block = {of_torch.allocate(bytes), bytes};
        void* const memory = block.memory.get();
        used_.emplace(memory, std::move(block));
        for (Output& output : outputs_here)
            if (output.bytes == bytes) output.made.push_back(memory);
        return memory;
    }

    // Returns false if the memory is of no block.
    bool leave(void* memory) {
        const std::lock_guard lock(mutex_);
        auto used = used_.extract(memory);
        if (used.empty()) return false;
        const size_t bytes = used.mapped().bytes;
        if (bytes > 0 && bytes <= kKeptBytes) keep(std::move(used.mapped()));
        return true;
    }

    // Blocks are never destroyed, because tensors may outlive static objects.
    static Blocks& blocks() {
        static auto* const blocks = new Blocks;
        return *blocks;
    }

   private:
    // Returns a block that fits, or one without memory. It may be larger by a quarter, so that shapes that change a little find one.
    Block take_left(size_t bytes) {
        const auto fits = [&](const Block& block) { return block.bytes >= bytes && block.bytes - bytes <= bytes / 4; };
        const auto found = std::find_if(left_.rbegin(), left_.rend(), fits);
        if (found == left_.rend()) return {};
        Block block = std::move(*found);
        left_.erase(std::next(found).base());
        left_bytes_ -= block.bytes;
        return block;
    }

    void keep(Block block) {
        left_bytes_ += block.bytes;
        left_.push_back(std::move(block));
        auto kept = left_.begin();
        for (; left_bytes_ > kKeptBytes; ++kept) left_bytes_ -= kept->bytes;
        left_.erase(left_.begin(), kept);
    }

    std::mutex mutex_;
    std::unordered_map<void*, Block> used_;
    std::vector<Block> left_;
    size_t left_bytes_ = 0;
};

void release(void* memory);

// Torch's allocator, except for what adapters allocate.
class TemporariesAllocator final : public c10::Allocator {
   public:
    explicit TemporariesAllocator(c10::Allocator& of_torch) : of_torch_(of_torch) {}

    c10::DataPtr allocate(size_t bytes) override {
        if (!kept_here || bytes < kLargeBytes) return of_torch_.allocate(bytes);
        void* const memory = Blocks::blocks().take(bytes, of_torch_);
        return {memory, memory, release, c10::Device(c10::kCPU)};
    }
    bool is_simple_data_ptr(const c10::DataPtr& data) const override { return of_torch_.is_simple_data_ptr(data); }
    c10::DeleterFnPtr raw_deleter() const override { return release; }
    void copy_data(void* to, const void* from, size_t bytes) const override { of_torch_.copy_data(to, from, bytes); }

    c10::Allocator& of_torch() { return of_torch_; }

   private:
    c10::Allocator& of_torch_;
};

TemporariesAllocator& allocator() {
    static auto* const allocator = new TemporariesAllocator(*c10::GetCPUAllocator());
    return *allocator;
}

// Releases memory of which only the address is known, such as oneDNN's, which may be torch's.
void release(void* memory) {
    if (!Blocks::blocks().leave(memory)) allocator().of_torch().raw_deleter()(memory);
}

[[maybe_unused]] const bool installed = [] {
    c10::SetCPUAllocator(&allocator());
    return true;
}();

}  // namespace

TemporariesAreKept::TemporariesAreKept() : before_(std::exchange(kept_here, true)) {}
TemporariesAreKept::~TemporariesAreKept() {
    kept_here = before_;
}

ResultsTakeOutputs::~ResultsTakeOutputs() {
    outputs_here.clear();
}

void ResultsTakeOutputs::add(const at::Tensor& output, const Use& use) {
    if (output.nbytes() < kLargeBytes || !output.is_contiguous()) return;
    void* const memory = output.mutable_data_ptr();
    if (reinterpret_cast<uintptr_t>(memory) % kAlignment == 0) outputs_here.push_back({memory, output.nbytes(), turn_of(use)});
}

bool is_in_output(const at::Tensor& tensor) {
    if (outputs_here.empty() || !tensor.defined()) return false;
    const void* const memory = tensor.storage().data();
    return std::any_of(outputs_here.begin(), outputs_here.end(), [memory](const Output& output) { return output.memory == memory; });
}

void prefer_output(const at::Tensor& out, const at::Tensor& result) {
    for (Output& output : outputs_here) {
        if (output.memory != out.const_data_ptr()) continue;
        const auto made = std::find(output.made.begin(), output.made.end(), result.const_data_ptr());
        if (made != output.made.end()) output.turn = made - output.made.begin();
    }
}

void stop_taking_outputs() {
    for (Output& output : outputs_here) output.is_taken = true;
}

}  // namespace torch_aclnn::host::aten
