// Device memory behind whose end nothing can be read or written, for runs without AddressSanitizer, which would notice it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace fuzz {

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define FUZZ_SANITIZED 1
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define FUZZ_SANITIZED 1
#endif

// `bytes` of the device's memory that end at a page without access; null if they cannot, and in a build with AddressSanitizer, whose own
// allocations are better. Each number from 0 to 9 has memory of its own, which the next call with the number takes again.
uint8_t* guarded_memory(size_t number, size_t bytes);

}  // namespace fuzz
