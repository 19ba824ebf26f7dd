// The overflow register of the products that have no infinities: an operation that makes an infinity of finite numbers, or any NaN, sets
// it, and it stays set until it is cleared. The engine computes infinities there too, as IEEE arithmetic has them.
#pragma once

#include <cstdint>
#include <vector>

#include "acl/acl.h"
#include "engine/runtime/visibility.h"

namespace torch_aclnn::host {

TORCH_ACLNN_HOST_API bool has_overflow_register();
// The register is the process's, as documented for A2 and A3.
TORCH_ACLNN_HOST_API bool overflow_register();
TORCH_ACLNN_HOST_API void set_overflow_register(bool value);

// An argument of an operation: elements in memory, at their strides in elements.
struct Operand {
    aclDataType type;
    const void* first;
    std::vector<int64_t> sizes, strides;
    bool is_read, is_written;
};

// It is made of all operands before an operation, and asked after it to set the register if the operation has overflowed.
class TORCH_ACLNN_HOST_API OverflowCheck {
   public:
    explicit OverflowCheck(std::vector<Operand> operands);
    void finish() const;

   private:
    // The worst that an element is; a value of a type without floating point is finite.
    enum class Range { finite, infinite, nan };

    template <class Bits>
    static Range range_of(const Operand& operand, const Bits* first, size_t dim, Bits exponent);
    template <class Bits>
    static Range range_of(const Operand& operand, Bits exponent);
    static Range range_of(const Operand& operand);
    bool was_nan(const void* memory) const;

    std::vector<Operand> operands_;
    std::vector<Range> read_;  // the finite values of the operands that are not read
};

}  // namespace torch_aclnn::host
