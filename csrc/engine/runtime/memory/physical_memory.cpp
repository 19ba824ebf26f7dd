#include "engine/runtime/memory/physical_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <mutex>

#include "engine/runtime/call/faultable.h"
#include "engine/runtime/call/traced.h"
#include "engine/runtime/error/error.h"
#include "engine/runtime/error/guarded.h"
#include "engine/runtime/handle_table.h"
#include "engine/runtime/memory/device_addresses.h"
#include "engine/runtime/memory/poison.h"

namespace torch_aclnn::host {
namespace {

// One file for all, because a process may not have thousands of files open. Its offsets are never used twice.
class MemoryFile {
   public:
    // The offset of fresh memory, or -1 if the machine refuses.
    int64_t extend(size_t size) noexcept {
        std::lock_guard<std::mutex> lock(mutex_);
        if (file_ < 0) file_ = memfd_create("torch_aclnn", MFD_CLOEXEC);
        if (file_ < 0 || ftruncate(file_, end_ + static_cast<off_t>(size)) != 0) return -1;
        const int64_t offset = end_;
        end_ += static_cast<off_t>(size);
        return offset;
    }

    void give_back(int64_t offset, size_t size) noexcept {
        (void)fallocate(file_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset, static_cast<off_t>(size));
    }

    bool map(void* address, int64_t offset, size_t size) noexcept {
        return mmap(address, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file_, offset) != MAP_FAILED;
    }

   private:
    std::mutex mutex_;
    int file_ = -1;
    off_t end_ = 0;
};

// Never destroyed: memory is still unmapped while the process exits.
MemoryFile& memory_file() {
    static auto* const once = new MemoryFile;
    return *once;
}

HandleTable<Physical>& physicals() {
    static auto* const once = new HandleTable<Physical>(HandleKind::physical_memory);
    return *once;
}

[[noreturn]] void refuse_physical(const void* handle) {
    refuse(ACL_ERROR_RT_INVALID_HANDLE, "handle", "live physical memory", text(handle));
}

}  // namespace

Physical::Physical(Device& device, size_t size) : device_(device), size_(size) {
    device_.reserve(size_);
    offset_ = memory_file().extend(size_);
    if (offset_ >= 0) return;
    device_.release(size_);
    throw Error(ACL_ERROR_RT_MEMORY_ALLOCATION, text("the machine is out of memory: asked for ", size_, " bytes"));
}

Physical::~Physical() {
    memory_file().give_back(offset_, size_);
    device_.release(size_);
}

bool Physical::map_at(void* address) noexcept {
    if (!memory_file().map(address, offset_, size_)) return false;
    if (!is_poisoned_) poison_if_wanted(address, size_);
    is_poisoned_ = true;
    return true;
}

std::shared_ptr<Physical> find_physical(const void* handle) {
    auto physical = physicals().find(handle);
    if (physical == nullptr) refuse_physical(handle);
    return physical;
}

}  // namespace torch_aclnn::host

using namespace torch_aclnn::host;

// Of the properties only the device matters: the rest chooses between kinds of the chip's memory.
extern "C" TORCH_ACLNN_HOST_API aclError aclrtMallocPhysical(aclrtDrvMemHandle* handle, size_t size, const aclrtPhysicalMemProp* prop,
                                                             uint64_t) {
    return traced(
        can_fail(__func__),
        [&] {
            require_pointer("handle", handle);
            require_pointer("prop", prop);
            const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
            if (size == 0 || size % page != 0)
                refuse(ACL_ERROR_RT_PARAM_INVALID, "size", text("a multiple of ", page), std::to_string(size));
            *handle = physicals().add(std::make_shared<Physical>(find_device("prop->location.id", prop->location.id), size));
        },
        [&] { return call_arguments("handle", value_at(handle), "size", size); });
}

extern "C" TORCH_ACLNN_HOST_API aclError aclrtFreePhysical(aclrtDrvMemHandle handle) {
    return traced(
        __func__,
        [&] {
            if (physicals().remove(handle) == nullptr) refuse_physical(handle);
        },
        [&] { return call_arguments("handle", handle); });
}

// Any number of pages will do; a chip's memory comes in huge ones.
extern "C" TORCH_ACLNN_HOST_API aclError aclrtMemGetAllocationGranularity(aclrtPhysicalMemProp* prop, aclrtMemGranularityOptions option,
                                                                          size_t* granularity) {
    return traced(
        __func__,
        [&] {
            require_pointer("prop", prop);
            require_pointer("granularity", granularity);
            (void)find_device("prop->location.id", prop->location.id);
            switch (option) {
                case ACL_RT_MEM_ALLOC_GRANULARITY_MINIMUM: *granularity = static_cast<size_t>(sysconf(_SC_PAGESIZE)); break;
                case ACL_RT_MEM_ALLOC_GRANULARITY_RECOMMENDED: *granularity = kHugePage; break;
                default: refuse(ACL_ERROR_INVALID_PARAM, "option", "0 (minimum) or 1 (recommended)", std::to_string(option));
            }
        },
        [&] { return call_arguments("granularity", value_at(granularity)); });
}
