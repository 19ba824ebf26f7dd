// Reads choices out of an input. A short input goes on with zeros, which stand for the usual choice, so that inputs can shrink.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace fuzz {

class Bytes {
   public:
    Bytes(const uint8_t* data, size_t size) : next_(data), end_(data + size) {}

    uint8_t byte() { return next_ == end_ ? 0 : *next_++; }
    // 0..count-1.
    size_t below(size_t count) { return byte() % count; }
    int64_t between(int64_t lowest, int64_t highest) { return lowest + byte() % (highest - lowest + 1); }
    // True for `count` of 256 bytes.
    bool rarely(int count) { return byte() > 255 - count; }
    int64_t word() {
        uint64_t value = 0;
        for (int i = 0; i < 8; ++i) value = value << 8 | byte();
        return static_cast<int64_t>(value);
    }
    // A number at which arithmetic on sizes tends to break, or one near `usual`.
    int64_t hostile(int64_t usual) {
        static constexpr int64_t kNumbers[] = {0,
                                               1,
                                               -1,
                                               2,
                                               3,
                                               17,
                                               255,
                                               256,
                                               -255,
                                               -256,
                                               65535,
                                               65536,
                                               INT32_MAX,
                                               INT32_MIN,
                                               int64_t{INT32_MAX} + 1,
                                               int64_t{INT32_MIN} - 1,
                                               int64_t{1} << 28,
                                               int64_t{1} << 32,
                                               (int64_t{1} << 32) - 1,
                                               (int64_t{1} << 32) + 1,
                                               -(int64_t{1} << 32),
                                               int64_t{1} << 61,
                                               (int64_t{1} << 61) + 1,
                                               int64_t{1} << 62,
                                               INT64_MAX,
                                               INT64_MAX - 1,
                                               INT64_MIN,
                                               INT64_MIN + 1};
        constexpr size_t kCount = sizeof kNumbers / sizeof *kNumbers;
        const uint8_t which = byte();
        if (which < 2 * kCount) return kNumbers[which / 2];
        if (which < 64) return word();
        return static_cast<int64_t>(static_cast<uint64_t>(usual) + static_cast<uint64_t>(which % 9) - 4);
    }

   private:
    const uint8_t* next_;
    const uint8_t* const end_;
};

}  // namespace fuzz
