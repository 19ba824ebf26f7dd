#include "engine/runtime/stream/overflow.h"

#include <algorithm>
#include <cstring>

#include "engine/runtime/config/soc.h"
#include "engine/runtime/error/guarded.h"
#include "engine/runtime/memory/memory_range.h"
#include "engine/runtime/stream/stream.h"

namespace torch_aclnn::host {
namespace {

std::atomic<bool> overflowed{false};

constexpr size_t kStatusBytes = 64;  // documented

void require_overflow_register() {
    if (!has_overflow_register())
        refuse(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "product", "one without infinities (310P): this one keeps them in its results",
               config().soc_name);
}

class Get final : public NamedTask {
   public:
    Get(const char* name, void* address)
        : NamedTask(name), range_("outputAddr", address, kStatusBytes, Side::device, "ACL_MEMCPY_DEVICE_TO_DEVICE") {}
    std::vector<MemoryAccess> accesses() const override {
        std::vector<MemoryAccess> accesses;
        range_.add_access(accesses, true);
        return accesses;
    }
    void run() override {
        std::optional<MemoryUse> use;
        range_.hold(use);
        std::memset(range_.view(), 0, kStatusBytes);
        *static_cast<unsigned char*>(range_.view()) = overflow_register();
    }

   private:
    MemoryRange range_;
};

class Reset final : public NamedTask {
   public:
    using NamedTask::NamedTask;
    void run() override { set_overflow_register(false); }
};

}  // namespace

bool has_overflow_register() {
    return traits_of(config().product).has_overflow_register;
}

bool overflow_register() {
    return overflowed.load();
}

void set_overflow_register(bool value) {
    overflowed.store(value);
}

OverflowCheck::OverflowCheck(std::vector<Operand> operands) : operands_(std::move(operands)) {
    for (const Operand& operand : operands_) read_.push_back(operand.is_read ? range_of(operand) : Range::finite);
}

// An argument that was NaN before, such as running statistics after a bad batch, does not count.
void OverflowCheck::finish() const {
    Range written = Range::finite;
    for (const Operand& operand : operands_)
        if (operand.is_written && !was_nan(operand.first)) written = std::max(written, range_of(operand));
    const bool read_finite = std::all_of(read_.begin(), read_.end(), [](Range range) { return range == Range::finite; });
    if (written == Range::nan || (written == Range::infinite && read_finite)) set_overflow_register(true);
}

bool OverflowCheck::was_nan(const void* memory) const {
    for (size_t i = 0; i < operands_.size(); ++i)
        if (operands_[i].first == memory && read_[i] == Range::nan) return true;
    return false;
}

// Both infinities and all NaNs have each bit of the exponent, and NaNs one more.
template <class Bits>
OverflowCheck::Range OverflowCheck::range_of(const Operand& operand, const Bits* first, size_t dim, Bits exponent) {
    if (dim == operand.sizes.size()) {
        if ((*first & exponent) != exponent) return Range::finite;
        constexpr Bits kSign = Bits(1) << (sizeof(Bits) * 8 - 1);
        return (*first & ~kSign & ~exponent) == 0 ? Range::infinite : Range::nan;
    }
    Range range = Range::finite;
    for (int64_t i = 0; i < operand.sizes[dim] && range != Range::nan; ++i)
        range = std::max(range, range_of(operand, first + i * operand.strides[dim], dim + 1, exponent));
    return range;
}

template <class Bits>
OverflowCheck::Range OverflowCheck::range_of(const Operand& operand, Bits exponent) {
    return range_of(operand, static_cast<const Bits*>(operand.first), 0, exponent);
}

OverflowCheck::Range OverflowCheck::range_of(const Operand& operand) {
    switch (operand.type) {
        case ACL_FLOAT16: return range_of<uint16_t>(operand, 0x7C00);
        case ACL_BF16: return range_of<uint16_t>(operand, 0x7F80);
        case ACL_FLOAT: return range_of<uint32_t>(operand, 0x7F800000);
        case ACL_DOUBLE: return range_of<uint64_t>(operand, 0x7FF0000000000000);
        default: return Range::finite;
    }
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
        find_usable_stream(stream)->submit(std::make_unique<Get>("aclrtGetOverflowStatus", outputAddr));
    });
}

extern "C" TORCH_ACLNN_HOST_API aclError aclrtResetOverflowStatus(aclrtStream stream) {
    return guarded(__func__, [&] {
        require_overflow_register();
        find_usable_stream(stream)->submit(std::make_unique<Reset>("aclrtResetOverflowStatus"));
    });
}
