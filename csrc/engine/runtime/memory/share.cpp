#include "engine/runtime/memory/share.h"

#include <unistd.h>

#include <algorithm>
#include <random>

#include "engine/runtime/config/config.h"
#include "engine/runtime/device/process.h"
#include "engine/runtime/error/error.h"
#include "engine/runtime/memory/device_addresses.h"
#include "engine/runtime/text.h"

namespace torch_aclnn::host {
namespace {

// A process's number has at most 22 bits, and the pages of a file fit into the others.
constexpr int kPageBits = 42;
constexpr size_t kMostAllowed = 512;
constexpr uint64_t kMagic = 0x65726168735f636e;  // the first bytes, by which a wrong number is recognised

// The beginning of the page of a share. It is all zero once the memory is no longer shared.
struct Record {
    uint64_t magic;
    ShareKind kind;
    int32_t device;
    int64_t offset;
    uint64_t size;
    uint64_t secret;
    uint32_t is_for_all;
    uint32_t allowed_count;
    int32_t allowed[kMostAllowed];
};

std::mutex records_mutex;

size_t page_size() {
    return round_up_to_pages(1);
}

int process_of(uint64_t number) {
    return static_cast<int>(number >> kPageBits);
}

int64_t place_of(uint64_t number) {
    return static_cast<int64_t>((number & ((uint64_t{1} << kPageBits) - 1)) * page_size());
}

[[noreturn]] void refuse_unshared(const char* parameter, uint64_t number) {
    refuse(ACL_ERROR_RT_PARAM_INVALID, parameter, text("memory that process ", process_of(number), " shares"),
           "one that it has never shared, or shares no more");
}

Record record_of(const char* parameter, const MemoryFile& file, uint64_t number, ShareKind kind) {
    Record record;
    const bool is_read = file.read(place_of(number), &record, sizeof(record));
    if (!is_read || record.magic != kMagic || record.kind != kind) refuse_unshared(parameter, number);
    return record;
}

// Another process would find no values there.
void refuse_in_dry_run() {
    if (config().dry_run)
        throw Error(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "a dry run (TORCH_ACLNN_HOST_COMPUTE=0) shares no memory between processes");
}

}  // namespace

void require_share_flags(uint64_t flags) {
    require_not_forked();
    refuse_in_dry_run();
    if (flags > 1) refuse(ACL_ERROR_RT_PARAM_INVALID, "flags", "0 or 1", std::to_string(flags));
}

Shared share(ShareKind kind, int64_t offset, size_t size, int device, bool to_all) {
    Record record{};
    record.magic = kMagic;
    record.kind = kind;
    record.device = device;
    record.offset = offset;
    record.size = size;
    record.secret = (uint64_t{std::random_device()()} << 32) | std::random_device()();
    record.is_for_all = to_all ? 1 : 0;
    MemoryFile& file = *MemoryFile::own();
    const int64_t place = file.extend(page_size());
    if (!file.write(place, &record, sizeof(record)))
        throw Error(ACL_ERROR_RT_MEMORY_ALLOCATION, "the machine is out of memory: asked for one page");
    return {(static_cast<uint64_t>(getpid()) << kPageBits) | (static_cast<uint64_t>(place) / page_size()), record.secret};
}

void allow(const char* parameter, uint64_t number, ShareKind kind, const int32_t* processes, size_t count) {
    if (!is_own(number)) refuse(ACL_ERROR_RT_PARAM_INVALID, parameter, "memory that this process shares", "another process's");
    const std::lock_guard<std::mutex> lock(records_mutex);
    MemoryFile& file = *MemoryFile::own();
    Record record = record_of(parameter, file, number, kind);
    if (count > kMostAllowed - record.allowed_count)
        refuse(ACL_ERROR_RT_PARAM_INVALID, "num", text("at most ", kMostAllowed, " processes in all"), std::to_string(count));
    std::copy_n(processes, count, record.allowed + record.allowed_count);
    record.allowed_count += static_cast<uint32_t>(count);
    (void)file.write(place_of(number), &record, sizeof(record));
}

bool end_share(uint64_t number, ShareKind kind) noexcept {
    if (!is_own(number)) return false;
    const std::lock_guard<std::mutex> lock(records_mutex);
    MemoryFile& file = *MemoryFile::own();
    Record record;
    if (!file.read(place_of(number), &record, sizeof(record)) || record.magic != kMagic || record.kind != kind) return false;
    file.give_back(place_of(number), page_size());
    return true;
}

SharedMemory find_shared(const char* parameter, uint64_t number, ShareKind kind) {
    refuse_in_dry_run();
    const auto file = MemoryFile::of(parameter, process_of(number));
    const Record record = record_of(parameter, *file, number, kind);
    const auto* const end = record.allowed + std::min<size_t>(record.allowed_count, kMostAllowed);
    if (record.is_for_all == 0 && std::find(record.allowed, end, getpid()) == end)
        refuse(ACL_ERROR_RT_PARAM_INVALID, parameter, text("memory that is shared with process ", getpid()),
               text("that of process ", process_of(number), ", which has not named this process"));
    return {file, record.offset, record.size, record.device, record.secret};
}

bool is_own(uint64_t number) noexcept {
    return process_of(number) == getpid();
}

}  // namespace torch_aclnn::host
