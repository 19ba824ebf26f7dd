// Memory that a loop needs for itself.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>

namespace torch_aclnn::kernels {

// Pieces of scratch memory start at cache lines.
constexpr int64_t kCacheLine = 64;
constexpr int64_t round_to_lines(int64_t bytes) {
    return (bytes + kCacheLine - 1) / kCacheLine * kCacheLine;
}

// Whole vectors may be read or written this far behind the end of a buffer.
constexpr int64_t kSlack = 256;

// A sink that takes pieces of at most this many bytes; it holds several small ones, and stays in the first cache.
constexpr int64_t sink_bytes(int64_t piece) {
    return round_to_lines(std::max<int64_t>(4096, piece) + 2 * kCacheLine + kSlack);
}

// Memory that is on the stack if it is small, which spares small tensors an allocation.
class Scratch {
   public:
    explicit Scratch(int64_t bytes) : large_(bytes > kInline ? new char[bytes + kCacheLine] : nullptr) {}
    void* data() {
        if (!large_) return inline_;
        const auto address = reinterpret_cast<uintptr_t>(large_.get());
        return large_.get() + (-address & (kCacheLine - 1));
    }

   private:
    static constexpr int64_t kInline = 32768;
    alignas(kCacheLine) char inline_[kInline];
    std::unique_ptr<char[]> large_;
};

}  // namespace torch_aclnn::kernels
