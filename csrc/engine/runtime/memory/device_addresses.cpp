#include "engine/runtime/memory/device_addresses.h"

#include <sys/mman.h>
#include <unistd.h>

#include <map>
#include <mutex>

#include "engine/runtime/config/config.h"
#include "engine/runtime/device/device.h"
#include "engine/runtime/error/error.h"
#include "engine/runtime/lasting.h"
#include "engine/runtime/memory/address_arithmetic.h"
#include "engine/runtime/memory/address_limit.h"
#include "engine/runtime/memory/host_view.h"
#include "engine/runtime/memory/known_values.h"
#include "engine/runtime/text.h"

namespace torch_aclnn::host {

DeviceRange device_range;

namespace {

// Addresses cost nothing, but a limit, or a tool such as valgrind, may leave few.
constexpr size_t kLeast = size_t{64} << 20;
constexpr size_t kMost = size_t{1} << 44;
constexpr size_t kUsual = size_t{32} << 30;
// The range for aclrtReserveMemAddress, of which torch_npu asks for more than the device has.
constexpr size_t kReservations = size_t{1} << 40;

constexpr int kReserved = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;

void* at(uintptr_t address) {
    return reinterpret_cast<void*>(address);
}

[[noreturn]] void throw_no_addresses(size_t size) {
    throw Error(ACL_ERROR_RT_MEMORY_ALLOCATION, text("the machine has no range of addresses left for ", size, " bytes"));
}

size_t wanted_range() {
    const size_t devices = static_cast<size_t>(std::max(device_count(), 1));
    const size_t budgets = std::min(config().memory_bytes, kMost / devices) * devices;
    const size_t wanted = within_address_limit((all_addresses_are_in_range() ? kReservations : kUsual) + 4 * budgets, 4);
    return std::clamp(round_up(wanted, kHugePage), kLeast, kMost);
}

class AddressRange {
   public:
    AddressRange() {
        const size_t views = config().isolate ? 2 : 1;
        for (size_ = wanted_range(); size_ >= kLeast; size_ = size_ / 2 / kHugePage * kHugePage) {
            void* const found = mmap(nullptr, views * size_ + kHugePage, PROT_NONE, kReserved, -1, 0);
            if (found == MAP_FAILED) continue;
            begin_ = next_ = round_up(reinterpret_cast<uintptr_t>(found), kHugePage);
            device_range.begin.store(begin_, std::memory_order_relaxed);
            device_range.distance.store(config().isolate ? size_ : 0, std::memory_order_relaxed);
            device_range.size.store(size_, std::memory_order_release);
            return;
        }
        throw_no_addresses(kLeast);
    }

    // Takes the next free place after the one that was taken last, and starts again at the beginning after the end.
    uintptr_t take(size_t size) {
        const size_t alignment = size >= kHugePage ? kHugePage : round_up_to_pages(1);
        const std::lock_guard<std::mutex> lock(mutex_);
        uintptr_t place = find(next_, end(), size, alignment);
        if (place == 0) place = find(begin_, std::min(end(), next_ + size), size, alignment);
        if (place == 0) throw_no_addresses(size);
        taken_[place] = size;
        next_ = place + size;
        return place;
    }

    void give_back(uintptr_t begin) {
        const std::lock_guard<std::mutex> lock(mutex_);
        taken_.erase(begin);
    }

   private:
    uintptr_t end() const { return begin_ + size_; }

    uintptr_t find(uintptr_t from, uintptr_t to, size_t size, size_t alignment) const {
        auto after = taken_.upper_bound(from);
        uintptr_t place = from;
        if (after != taken_.begin()) {
            const auto before = std::prev(after);
            place = std::max(place, before->first + before->second);
        }
        while (true) {
            place = round_up(place, alignment);
            if (place > to || size > to - place) return 0;
            if (after == taken_.end() || place + size <= after->first) return place;
            place = after->first + after->second;
            ++after;
        }
    }

    uintptr_t begin_ = 0;
    size_t size_ = 0;
    std::mutex mutex_;
    uintptr_t next_ = 0;
    std::map<uintptr_t, size_t> taken_;
};

constexpr auto& range = lasting<AddressRange>;

}  // namespace

size_t round_up_to_pages(size_t size) {
    static const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    return round_up(size, page);
}

bool all_addresses_are_in_range() noexcept {
    return config().isolate || config().dry_run;
}

uintptr_t take_addresses(size_t size) {
    if (size > kMost) throw_no_addresses(size);
    return range().take(round_up_to_pages(size));
}

void give_back_addresses(uintptr_t begin) {
    range().give_back(begin);
}

void put_memory(uintptr_t address, size_t size) {
    if (config().dry_run) return;
    void* const place = host_view(at(address));
    const size_t pages = round_up_to_pages(size);
    if (mmap(place, pages, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
        throw Error(ACL_ERROR_RT_MEMORY_ALLOCATION, text("the machine is out of memory: asked for ", size, " bytes"));
    // A segment of a caching allocator gets huge pages, which makes its first use several times faster.
    if (size >= kHugePage) (void)madvise(place, pages, MADV_HUGEPAGE);
}

void take_memory_away(uintptr_t address, size_t size) noexcept {
    if (config().dry_run) forget_values(at(address), size);
    (void)mmap(host_view(at(address)), round_up_to_pages(size), PROT_NONE, kReserved | MAP_FIXED, -1, 0);
}

}  // namespace torch_aclnn::host
