#include "engine/runtime/stream/overflow.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>

#include "engine/runtime/config/config.h"
#include "engine/runtime/config/soc.h"
#include "engine/runtime/error/error.h"
#include "engine/runtime/error/guarded.h"
#include "engine/runtime/memory/memory_range.h"
#include "engine/runtime/stream/stream.h"
#include "engine/runtime/stream/task.h"

namespace torch_aclnn::host {
namespace {

std::atomic<bool> overflowed{false};

// Both infinities and all NaNs have each bit of the exponent, and NaNs one more.
template <class Bits>
Range range_of(const Bits* first, const Elements& elements, size_t dim, Bits exponent) {
    if (dim == elements.rank) {
        if ((*first & exponent) != exponent) return Range::finite;
        constexpr Bits kSign = Bits(1) << (sizeof(Bits) * 8 - 1);
        return (*first & ~kSign & ~exponent) == 0 ? Range::infinite : Range::nan;
    }
    Range range = Range::finite;
    for (int64_t i = 0; i < elements.sizes[dim] && range != Range::nan; ++i)
        range = std::max(range, range_of(first + i * elements.strides[dim], elements, dim + 1, exponent));
    return range;
}

template <class Bits>
Range range_of(const Elements& elements, Bits exponent) {
    return range_of(static_cast<const Bits*>(elements.first), elements, 0, exponent);
}

constexpr size_t kStatusBytes = 64;  // documented

void require_overflow_register() {
    if (!has_overflow_register())
        refuse(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "product", "one without infinities (910A, 310P): this one keeps them in its results",
               config().soc_name);
}

class OverflowTask : public Task {
   public:
    explicit OverflowTask(const char* name) : name_(name) {}
    const char* name() const override { return name_; }
    void finish() noexcept override { delete this; }

   private:
    const char* name_;
};

class Get final : public OverflowTask {
   public:
    Get(const char* name, void* address)
        : OverflowTask(name), range_("outputAddr", address, kStatusBytes, Side::device, "ACL_MEMCPY_DEVICE_TO_DEVICE") {}
    void run() override {
        std::optional<MemoryUse> use;
        range_.hold(use);
        std::memset(range_.view(), 0, kStatusBytes);
        *static_cast<unsigned char*>(range_.view()) = overflow_register();
    }

   private:
    MemoryRange range_;
};

class Reset final : public OverflowTask {
   public:
    using OverflowTask::OverflowTask;
    void run() override { set_overflow_register(false); }
};

template <class MadeTask>
void submit(aclrtStream stream, std::unique_ptr<MadeTask> task) {
    find_usable_stream(stream)->submit(*task);
    (void)task.release();  // the stream finishes it
}

}  // namespace

Range range_of(const Elements& elements) {
    switch (elements.type) {
        case ACL_FLOAT16: return range_of<uint16_t>(elements, 0x7C00);
        case ACL_BF16: return range_of<uint16_t>(elements, 0x7F80);
        case ACL_FLOAT: return range_of<uint32_t>(elements, 0x7F800000);
        case ACL_DOUBLE: return range_of<uint64_t>(elements, 0x7FF0000000000000);
        default: return Range::finite;
    }
}

bool has_overflow_register() {
    return traits_of(config().product).has_overflow_register;
}

bool overflow_register() {
    return overflowed.load();
}

void set_overflow_register(bool value) {
    overflowed.store(value);
}

void note_ranges(const std::vector<Range>& read, Range written) {
    const bool read_finite = std::all_of(read.begin(), read.end(), [](Range range) { return range == Range::finite; });
    if (written == Range::nan || (written == Range::infinite && read_finite)) set_overflow_register(true);
}

}  // namespace torch_aclnn::host

using namespace torch_aclnn::host;

// The status is a byte that is not zero after an overflow.
extern "C" TORCH_ACLNN_HOST_API aclError aclrtGetOverflowStatus(void* outputAddr, size_t outputSize, aclrtStream stream) {
    return guarded(__func__, [&] {
        require_overflow_register();
        require_pointer("outputAddr", outputAddr);
        if (outputSize != kStatusBytes)
            refuse(ACL_ERROR_RT_PARAM_INVALID, "outputSize", std::to_string(kStatusBytes), std::to_string(outputSize));
        submit(stream, std::make_unique<Get>("aclrtGetOverflowStatus", outputAddr));
    });
}

extern "C" TORCH_ACLNN_HOST_API aclError aclrtResetOverflowStatus(aclrtStream stream) {
    return guarded(__func__, [&] {
        require_overflow_register();
        submit(stream, std::make_unique<Reset>("aclrtResetOverflowStatus"));
    });
}
