// Collects what belongs to consecutive addresses in the first cache and writes it to memory in whole cache lines.
#pragma once

#include "kernels/simd/lanes.h"

namespace torch_aclnn::kernels::KERNEL_ISA {

// Writes a vector to an address that is a multiple of its size, around the caches where there is an instruction for that.
template <class V>
inline void stream_bytes(void* target, V value) {
#if KERNEL_VECTOR_BYTES >= 64
    if constexpr (sizeof(V) == 64) return _mm512_stream_si512(static_cast<__m512i*>(target), (__m512i)value);
#endif
#if KERNEL_VECTOR_BYTES >= 32
    if constexpr (sizeof(V) == 32) return _mm256_stream_si256(static_cast<__m256i*>(target), (__m256i)value);
#endif
#if defined(__SSE2__)
    if constexpr (sizeof(V) == 16) return _mm_stream_si128(static_cast<__m128i*>(target), (__m128i)value);
#endif
    store_bytes(target, value);
}

// After the last stream_bytes(): other threads see what was written.
inline void finish_streams() {
#if defined(__SSE2__)
    _mm_sfence();
#endif
}

// Writes whole lines to an aligned address, around the caches if `stream`: they would only push out what is still to be read.
inline void write_lines(char* target, const char* source, int64_t bytes, bool stream) {
    using Bytes = Vector<unsigned char, kVectorBytes>;
    const auto each = [&](auto write) {
        for (int64_t i = 0; i < bytes; i += kVectorBytes) write(target + i, load_bytes<Bytes>(source + i));
    };
    if (stream) return each([](char* to, Bytes value) { stream_bytes(to, value); });
    each([](char* to, Bytes value) { store_bytes(to, value); });
}

// Copies N to 2 * N bytes as two blocks that may overlap.
template <int N>
inline void copy_pair(char* target, const char* source, int64_t bytes) {
    using Bytes = Vector<unsigned char, N>;
    const Bytes head = load_bytes<Bytes>(source), tail = load_bytes<Bytes>(source + bytes - N);
    store_bytes(target, head);
    store_bytes(target + bytes - N, tail);
}

// Copies any number of bytes; both ends may be anywhere.
inline void copy_bytes(char* target, const char* source, int64_t bytes) {
    using Bytes = Vector<unsigned char, kVectorBytes>;
    if (bytes >= 2 * kVectorBytes) {
        const Bytes tail = load_bytes<Bytes>(source + bytes - kVectorBytes);
        for (int64_t i = 0; i < bytes - kVectorBytes; i += kVectorBytes) store_bytes(target + i, load_bytes<Bytes>(source + i));
        return store_bytes(target + bytes - kVectorBytes, tail);
    }
    if (bytes >= 64) return copy_pair<64>(target, source, bytes);
    if (bytes >= 32) return copy_pair<32>(target, source, bytes);
    if (bytes >= 16) return copy_pair<16>(target, source, bytes);
    if (bytes >= 8) return copy_pair<8>(target, source, bytes);
    for (int64_t i = 0; i < bytes; ++i) target[i] = source[i];
}

template <class T>
inline void copy_elements(T* target, const T* source, int64_t count) {
    copy_bytes(reinterpret_cast<char*>(target), reinterpret_cast<const char*>(source), count * static_cast<int64_t>(sizeof(T)));
}

class Sink {
   public:
    // `buffer` has sink_bytes() of the largest piece that will be asked for.
    Sink(void* buffer, int64_t bytes, bool stream) : buffer_(static_cast<char*>(buffer)), capacity_(bytes - kSlack), stream_(stream) {}
    ~Sink() { finish(); }
    Sink(const Sink&) = delete;
    Sink& operator=(const Sink&) = delete;

    // Where to put `count` elements that belong at `target`, at once; what is written up to kSlack bytes behind them is ignored.
    template <class T>
    T* room(T* target, int64_t count) {
        char* address = reinterpret_cast<char*>(target);
        const int64_t bytes = count * static_cast<int64_t>(sizeof(T));
        if (address != target_ + pending_) {
            write_all();
            target_ = address;
        } else if (pending_ + bytes > capacity_) {
            write_whole_lines();
        }
        char* place = buffer_ + pending_;
        pending_ += bytes;
        return reinterpret_cast<T*>(place);
    }

    // Gives room to a writer that keeps to its `count` elements and reads none of them: unless the lines go around the caches, it is the
    // target itself.
    template <class T>
    T* exact_room(T* target, int64_t count) {
        return stream_ ? room(target, count) : target;
    }

   private:
    void write_all() {
        write_whole_lines();
        copy_bytes(target_, buffer_, pending_);
        pending_ = 0;
    }

    // Writes whole lines, and leaves less than one.
    void write_whole_lines() {
        const int64_t head = -reinterpret_cast<intptr_t>(target_) & (kCacheLine - 1);
        if (pending_ < head + kCacheLine) return;
        const int64_t whole = (pending_ - head) / kCacheLine * kCacheLine;
        copy_bytes(target_, buffer_, head);
        write_lines(target_ + head, buffer_ + head, whole, stream_);
        const int64_t written = head + whole;
        pending_ -= written;
        target_ += written;
        copy_bytes(buffer_, buffer_ + written, pending_);
    }

    void finish() {
        write_all();
        if (stream_) finish_streams();
    }

    char* buffer_;
    int64_t capacity_;
    bool stream_;
    char* target_ = nullptr;
    int64_t pending_ = 0;
};

}  // namespace torch_aclnn::kernels::KERNEL_ISA
