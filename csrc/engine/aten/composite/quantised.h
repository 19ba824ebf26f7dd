// Functions that quantised operators share: for 4-bit numbers in memory, scales in the form that hardware reads, and rounding to few bits.
//
// Integers are multiplied and scaled in float64, which has them exactly, and the result is rounded once.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>
#include <vector>

#include "engine/aten/adapter/expected.h"
#include "engine/aten/adapter/kinds.h"
#include "engine/opapi/dtypes.h"

namespace torch_aclnn::host::aten {

// Half a byte, which no C type has.
constexpr DTypes INT4(ACL_INT4);

// A tensor of ATen's data types, or one of 4-bit numbers: INT4, with two in a byte, or INT32, with eight in a word. The first number has
// the lowest bits, and the numbers that share a byte or a word lie along the dimension that is contiguous.
class PackableTensor {
   public:
    PackableTensor(const char* name, const aclTensor* handle);

    bool has_four_bits() const { return numbers_in_one_ > 1; }
    at::ScalarType scalar_type() const { return has_four_bits() ? at::kChar : stored_.scalar_type(); }
    std::vector<int64_t> sizes() const;  // counted in numbers
    at::Tensor values() const;           // as INT8 if they have four bits

    // Rounds the numbers, cuts them off at the ends of the data type's range and stores them.
    void store(const at::Tensor& numbers) const;
    int64_t largest() const { return has_four_bits() ? 7 : 127; }

    const at::Tensor& tensor() const { return stored_; }
    at::Tensor& detached() { return stored_; }

   private:
    const char* name_;
    at::Tensor stored_;
    int64_t numbers_in_one_ = 1;
    int64_t packed_dim_ = 0;
};
inline PackableTensor read_packable(const char* name, const aclTensor* handle) {
    return {name, handle};
}
std::vector<PackableTensor> read_packables(const char* name, const aclTensorList* handle);

// The data type of a quantised result: INT8, or four bits as INT4 or INT32.
aclDataType read_quantised_dtype(const char* name, aclDataType dtype);
// That data type passed as an int64, of which only the lower half is read: where torch_npu passes an int, the upper half is not defined.
aclDataType read_quantised_number(const char* name, int64_t number);

namespace kind {
using Packable = Kind<const aclTensor*, PackableTensor, const PackableTensor&, read_packable>;
using Packables = Kind<const aclTensorList*, std::vector<PackableTensor>, const std::vector<PackableTensor>&, read_packables>;
using PackableOut = Kind<aclTensor*, PackableTensor, const PackableTensor&, read_packable>;
using QuantisedDType = Kind<aclDataType, aclDataType, aclDataType, read_quantised_dtype>;
using QuantisedNumber = Kind<int64_t, aclDataType, aclDataType, read_quantised_number>;
}  // namespace kind

// Shapes count numbers.
void require_expected(const char* name, const PackableTensor& tensor, const Expected& expected);
void require_expected(const char* name, const PackableTensor& tensor, const IfWanted& expected);

// An optional tensor, of which null and an empty one both mean that it is not given.
inline bool given(const std::optional<at::Tensor>& tensor) {
    return tensor && tensor->numel() > 0;
}
inline at::Tensor to_double(const at::Tensor& tensor) {
    return tensor.to(at::kDouble);
}

// 161002 unless the parameter is left out.
void require_not_given(const char* name, const std::optional<at::Tensor>& tensor);

// 161002 if the parameter is given in a shape that does not broadcast to these sizes.
void require_broadcast(const char* name, const std::optional<at::Tensor>& tensor, at::IntArrayRef sizes);

// The numbers of a scale. As INT64 or UINT64 it has the bits of a FLOAT in its lower half, as aclnnTransQuantParamV2 writes them.
at::Tensor scale_values(const at::Tensor& scale);

// Rounds to the nearest number, of two the even one, and cuts off at the ends of an integral data type's range.
void write_rounded(at::Tensor& out, const at::Tensor& numbers);

// Numbers between -largest and largest after rounding, and the scale that makes them so: the largest of each row by `largest`.
struct DynamicallyQuantised {
    at::Tensor numbers, scale;
};
DynamicallyQuantised quantise_rows(const at::Tensor& x, int64_t largest);

// The row of `per_group` for each of so many rows, of groups that end at the given rows.
at::Tensor rows_of_groups(const at::Tensor& per_group, const at::Tensor& ends, int64_t rows);

}  // namespace torch_aclnn::host::aten
