#include "engine/runtime/memory/physical_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <mutex>

#include "engine/runtime/error/call.h"
#include "engine/runtime/registry.h"

namespace torch_aclnn::host {
namespace {

// The documented properties of physical memory. Only the device matters: the rest chooses between kinds of the chip's memory.
struct PhysicalProperties {
    int handle_type;
    int allocation_type;
    int memory_attribute;
    uint32_t device;
    int location_type;
    uint64_t reserved;
};

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

Registry<Physical>& physicals() {
    static auto* const once = new Registry<Physical>(HandleKind::physical_memory);
    return *once;
}

}  // namespace

Physical::~Physical() {
    memory_file().give_back(offset_, size_);
    device_.release(size_);
}

bool Physical::map_at(void* address) const noexcept {
    return memory_file().map(address, offset_, size_);
}

std::shared_ptr<Physical> find_physical(const void* handle) {
    return physicals().find(handle);
}

}  // namespace torch_aclnn::host

using namespace torch_aclnn::host;

extern "C" TORCH_ACLNN_HOST_API aclError aclrtMallocPhysical(void** handle, size_t size, const PhysicalProperties* prop, uint64_t) {
    return traced(
        __func__,
        [&](const char* function) -> aclError {
            if (handle == nullptr) return fail_null(function, "handle");
            if (prop == nullptr) return fail_null(function, "prop");
            const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
            if (size == 0 || size % page != 0) {
                return fail(ACL_ERROR_RT_PARAM_INVALID, text(function, ": size must be a multiple of ", page, ", got ", size));
            }
            Device* device = nullptr;
            if (aclError code = find_device(function, "prop->location.id", prop->device, device)) return code;
            if (!device->reserve(size)) return fail_out_of_memory(function, *device, size);
            const int64_t offset = memory_file().extend(size);
            if (offset < 0) {
                device->release(size);
                return fail(ACL_ERROR_RT_MEMORY_ALLOCATION, text(function, ": the machine is out of memory: asked for ", size, " bytes"));
            }
            *handle = physicals().add(std::make_shared<Physical>(*device, size, offset));
            return ACL_SUCCESS;
        },
        [&] { return text(handle ? *handle : nullptr, ", size ", size); });
}

extern "C" TORCH_ACLNN_HOST_API aclError aclrtFreePhysical(void* handle) {
    return traced(
        __func__,
        [&](const char* function) -> aclError {
            if (physicals().remove(handle) != nullptr) return ACL_SUCCESS;
            return fail(ACL_ERROR_RT_INVALID_HANDLE, text(function, ": handle must be live physical memory, got ", handle));
        },
        [&] { return text(handle); });
}
