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

    // Writes the elements [0, count) of `target`, whose address is a multiple of their size. value(width, i) gives those from i on, N or
    // less at a time: as sums, or as they are.
    template <int N, class T, class Value>
    void write(T* target, int64_t count, const Value& value) {
        constexpr int64_t kSize = sizeof(T), kPerLine = kCacheLine / kSize;
        if (reinterpret_cast<char*>(target) != end_) {
            flush();
            begin_ = end_ = reinterpret_cast<char*>(target);
        }
        const int64_t to_line = (-reinterpret_cast<intptr_t>(target) & kWithinLine) / kSize;
        const int64_t first = smaller(to_line, count), last = first + (count - first) / kPerLine * kPerLine;
        if (first > 0) keep<N>(target, 0, first, value);
        if (last > first) {
            for (int64_t i = first; i < last; i += N) stream_bytes(target + i, as_elements<N, T>(value(Width<N>{}, i)));
            begin_ = end_ = reinterpret_cast<char*>(target + last);
        }
        if (count > last) keep<N>(target, last, count, value);
    }

    template <class T>
    void copy(T* target, const T* source, int64_t count) {
        constexpr int N = kVectorBytes / sizeof(T);
        write<N>(target, count, [=](auto width, int64_t i) { return load_bytes<Vector<BitsOf<T>, decltype(width)::value>>(source + i); });
    }

   private:
    template <int N, class T>
    static Vector<BitsOf<T>, N> as_elements(Vector<Sum<T>, N> value) {
        return narrow<N, T>(value);
    }
    template <int N, class T, class = std::enable_if_t<!std::is_same_v<T, Sum<T>>>>
    static Vector<BitsOf<T>, N> as_elements(Vector<BitsOf<T>, N> bits) {
        return bits;
    }

    static constexpr intptr_t kWithinLine = kCacheLine - 1;

    // Writes elements of one line, which follow those that it has.
    template <int N, class T, class Value>
    void keep(T* target, int64_t first, int64_t last, const Value& value) {
        T* const place = reinterpret_cast<T*>(line_ + (reinterpret_cast<intptr_t>(end_) & kWithinLine));
        for_lanes_up_to<N>(last - first, [&](auto width, int64_t i) {
            store_bytes(place + i, as_elements<decltype(width)::value, T>(value(width, first + i)));
        });
        end_ = reinterpret_cast<char*>(target + last);
        if ((reinterpret_cast<intptr_t>(end_) & kWithinLine) == 0) flush();
    }

    void flush() {
        if (end_ - begin_ == kCacheLine)
            write_lines(begin_, line_, kCacheLine, true);
        else
            copy_bytes(begin_, line_ + (reinterpret_cast<intptr_t>(begin_) & kWithinLine), end_ - begin_);
        begin_ = end_;
    }

    alignas(kCacheLine) char line_[kCacheLine];
    char *begin_ = nullptr, *end_ = nullptr;  // the part of a line that is kept
};

}  // namespace torch_aclnn::kernels::KERNEL_ISA
