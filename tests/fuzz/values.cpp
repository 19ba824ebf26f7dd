#include "values.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "entry_points.h"

namespace fuzz {

constexpr uint8_t kFirstSpecial = 224;  // values of Call::values from here on are special
constexpr size_t kNumbers = 4;          // kinds of numbers, and as many with infinity and NaN

constexpr uint16_t kHalf[] = {0x3C00, 0xC000, 0x3800, 0x4200, 0x7C00, 0x7E00};
constexpr uint16_t kBrain[] = {0x3F80, 0xC000, 0x3F00, 0x4040, 0x7F80, 0x7FC0};
constexpr double kDouble[] = {1, -2, 0.5, 3, std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()};

template <class Number>
static void put(Number number, uint8_t* to) {
    std::memcpy(to, &number, sizeof number);
}

static int64_t index_value(const Call& call, size_t n) {
    uint64_t plane = 1;
    for (const int64_t size : call.arrays[0].values) plane *= static_cast<uint64_t>(size);
    const auto inside = static_cast<int64_t>((n * 5 + call.values) % (plane == 0 ? 1 : plane));
    if (call.values < kFirstSpecial || n != call.values % 8u) return inside;
    const int64_t outside[] = {-2, static_cast<int64_t>(plane), INT64_MAX, INT64_MIN};
    return outside[call.values % 4];
}

void write_value(const Call& call, size_t tensor, size_t n, uint8_t* to) {
    const size_t numbers = kNumbers + (call.values >= kFirstSpecial ? 2 : 0);
    const size_t which = (n + call.values + tensor) % numbers;
    const bool is_index = tensor == 2 && entry_points()[call.entry_point].kind == Kind::unpool;
    const int64_t whole = static_cast<int64_t>((n * 7 + call.values) % 100 + 1);
    switch (call.tensors[tensor].dtype) {
        case ACL_FLOAT16: return put(kHalf[which], to);
        case ACL_BF16: return put(kBrain[which], to);
        case ACL_FLOAT: return put(static_cast<float>(kDouble[which]), to);
        case ACL_DOUBLE: return put(kDouble[which], to);
        case ACL_COMPLEX64: return put(static_cast<float>(kDouble[which]), to), put(1.0F, to + sizeof(float));
        case ACL_COMPLEX128: return put(kDouble[which], to), put(1.0, to + sizeof(double));
        case ACL_INT8:
        case ACL_UINT8: return put(static_cast<int8_t>(whole), to);
        case ACL_INT16: return put(static_cast<int16_t>(whole), to);
        case ACL_BOOL: return put(whole % 2 == 1, to);
        case ACL_INT32: return put(static_cast<int32_t>(is_index ? index_value(call, n) : whole), to);
        case ACL_INT64: return put(is_index ? index_value(call, n) : whole, to);
        default: return;
    }
}

}  // namespace fuzz
