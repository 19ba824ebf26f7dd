#include "engine/runtime/memory/known_values.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <map>
#include <mutex>

#include "engine/runtime/error/error.h"
#include "engine/runtime/lasting.h"
#include "engine/runtime/memory/address_arithmetic.h"
#include "engine/runtime/memory/device_addresses.h"
#include "engine/runtime/memory/host_view.h"
#include "engine/runtime/text.h"

namespace torch_aclnn::host {
namespace {

// Ranges of addresses that do not touch.
class Ranges {
   public:
    bool contain(uintptr_t begin, uintptr_t end) const {
        const std::lock_guard<std::mutex> lock(mutex_);
        const auto after = ends_.upper_bound(begin);
        return after != ends_.begin() && std::prev(after)->second >= end;
    }

    void add(uintptr_t begin, uintptr_t end) {
        const std::lock_guard<std::mutex> lock(mutex_);
        auto range = ends_.upper_bound(begin);
        if (range != ends_.begin() && std::prev(range)->second >= begin) --range;
        while (range != ends_.end() && range->first <= end) {
            begin = std::min(begin, range->first);
            end = std::max(end, range->second);
            range = ends_.erase(range);
        }
        ends_[begin] = end;
    }

    void remove(uintptr_t begin, uintptr_t end) {
        const std::lock_guard<std::mutex> lock(mutex_);
        auto range = ends_.upper_bound(begin);
        if (range != ends_.begin() && std::prev(range)->second > begin) --range;
        while (range != ends_.end() && range->first < end) {
            const auto [first, last] = *range;
            range = ends_.erase(range);
            if (first < begin) ends_[first] = begin;
            if (last > end) ends_[end] = last;
        }
    }

   private:
    mutable std::mutex mutex_;
    std::map<uintptr_t, uintptr_t> ends_;  // the ends of known ranges, by their beginnings
};

constexpr auto& known = lasting<Ranges>;

}  // namespace

bool is_in_device_range(const void* address) noexcept {
    return device_range.contains(number(address));
}

bool has_values(const void* address, size_t bytes) {
    return !is_in_device_range(address) || known().contain(number(address), number(address) + bytes);
}

void make_room_for_values(const void* address, size_t bytes) {
    if (!is_in_device_range(address)) return;
    const uintptr_t view = number(host_view(address)), page = round_up_to_pages(1), begin = view / page * page;
    if (mprotect(reinterpret_cast<void*>(begin), round_up_to_pages(view + bytes - begin), PROT_READ | PROT_WRITE) == 0) return;
    throw Error(ACL_ERROR_RT_MEMORY_ALLOCATION, text("the machine refused memory for ", bytes, " bytes of known values"));
}

void add_values(const void* address, size_t bytes) {
    if (is_in_device_range(address)) known().add(number(address), number(address) + bytes);
}

void forget_values(const void* address, size_t bytes) noexcept {
    if (is_in_device_range(address)) known().remove(number(address), number(address) + bytes);
}

// A page that has been given back reads as zero: shared memory is given back by MADV_REMOVE, which fails for other memory.
void write_zeros(void* address, size_t bytes) noexcept {
    auto* const begin = static_cast<char*>(address);
    const size_t page = round_up_to_pages(1), before = std::min(bytes, round_up(number(begin), page) - number(begin));
    const size_t whole = (bytes - before) / page * page;
    char* const pages = begin + before;
    std::memset(begin, 0, before);
    if (whole > 0 && madvise(pages, whole, MADV_REMOVE) != 0 && madvise(pages, whole, MADV_DONTNEED) != 0) std::memset(pages, 0, whole);
    std::memset(pages + whole, 0, bytes - before - whole);
}

}  // namespace torch_aclnn::host
