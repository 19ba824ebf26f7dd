// Writes results around the caches as they are computed.
#pragma once

#include "kernels/simd/sink.h"

namespace torch_aclnn::kernels::KERNEL_ISA {

// Whole lines go to memory at once. A line that is written in part is kept, because memory would have to be read to complete it, and what
// follows may do that.
class LineStream {
   public:
    LineStream() = default;
    ~LineStream() {
        if (end_ == nullptr) return;
        flush();
        finish_streams();
    }
    LineStream(const LineStream&) = delete;
    LineStream& operator=(const LineStream&) = delete;

    // The elements [0, count) of `target`, of which value(width, i) gives those from i on, computed in the type S.
    template <class S, class T, class Value>
    void write(T* target, int64_t count, const Value& value) {
        constexpr int N = kLanes<S>;
        constexpr int64_t kSize = sizeof(T), kPerLine = kCacheLine / kSize;
        if (reinterpret_cast<char*>(target) != end_) {
            flush();
            begin_ = end_ = reinterpret_cast<char*>(target);
        }
        const int64_t to_line = (-reinterpret_cast<intptr_t>(target) & (kCacheLine - 1)) / kSize;
        const int64_t first = smaller(to_line, count), last = first + (count - first) / kPerLine * kPerLine;
        if (first > 0) keep<S>(target, 0, first, value);
        if (last > first) {
            for (int64_t i = first; i < last; i += N) stream_bytes(target + i, narrow<N, T>(value(Width<N>{}, i)));
            begin_ = end_ = reinterpret_cast<char*>(target + last);
        }
        if (count > last) keep<S>(target, last, count, value);
    }

   private:
    static constexpr intptr_t kWithinLine = kCacheLine - 1;

    // Elements of one line, which follow those that it has.
    template <class S, class T, class Value>
    void keep(T* target, int64_t first, int64_t last, const Value& value) {
        T* const place = reinterpret_cast<T*>(line_ + (reinterpret_cast<intptr_t>(end_) & kWithinLine));
        for_lanes<S>(last - first, [&](auto width, int64_t i) { store<decltype(width)::value>(place + i, value(width, first + i)); });
        end_ = reinterpret_cast<char*>(target + last);
        if ((reinterpret_cast<intptr_t>(end_) & kWithinLine) == 0) flush();
    }

    void flush() {
        using Bytes = Vector<unsigned char, kVectorBytes>;
        if (end_ - begin_ == kCacheLine)
            for (int64_t i = 0; i < kCacheLine; i += kVectorBytes) stream_bytes(begin_ + i, load_bytes<Bytes>(line_ + i));
        else
            copy_bytes(begin_, line_ + (reinterpret_cast<intptr_t>(begin_) & kWithinLine), end_ - begin_);
        begin_ = end_;
    }

    alignas(kCacheLine) char line_[kCacheLine];
    char *begin_ = nullptr, *end_ = nullptr;  // what is kept: a part of one line
};

}  // namespace torch_aclnn::kernels::KERNEL_ISA
