// Functions that quantised operators share: for 4-bit numbers in memory, scales in the form that hardware reads, and rounding to few bits.
//
// Integers are multiplied and scaled in float64, which has them exactly, and the result is rounded once.
#pragma once

#include "engine/aten/adapter/expected.h"
#include "engine/aten/layout/layout.h"
#include "engine/aten/numerics/results.h"
#include "engine/opapi/dtypes.h"

namespace torch_aclnn::host::aten {

// A tensor of ATen's data types, or one of 4-bit numbers: INT4, with two in a byte, or INT32, with eight in a word. The first number has
// the lowest bits, and the numbers that share a byte or a word lie along the dimension that is contiguous. A weight may be in FRACTAL_NZ;
// the strides then say whether what lies in memory are its transposed matrices. On the 950 it may be one of floating point numbers of few
// bits (low_precision_floats.h), whose values are those in float64.
class PackableTensor {
   public:
    PackableTensor(const char* name, const aclTensor* handle);

    bool has_four_bits() const { return numbers_in_one_ > 1; }
    bool is_floating() const { return float_type_ != ACL_DT_UNDEFINED; }
    aclDataType float_type() const { return float_type_; }
    at::ScalarType scalar_type() const { return is_floating() ? at::kDouble : has_four_bits() ? at::kChar : stored_.scalar_type(); }
    std::vector<int64_t> sizes() const;  // counted in numbers
    at::Tensor values() const;           // integers of four bits are returned as INT8

    // Rounds the numbers, cuts them off at the ends of the data type's range and stores them.
    void store(const at::Tensor& numbers, std::string_view rounding = "rint") const;
    int64_t largest() const { return has_four_bits() ? 7 : 127; }

    // Returns a tensor that has the sizes alone, for checks that take a tensor.
    at::Tensor placeholder() const;

    const at::Tensor& tensor() const { return stored_; }
    at::Tensor& detached();

   private:
    void read_layout(const aclTensor& handle);
    at::Tensor unpacked() const;
    at::Tensor packed(const at::Tensor& bits) const;
    at::Tensor plain() const;

    const char* name_;
    at::Tensor stored_;              // the memory of a tensor in FRACTAL_NZ
    std::optional<Layout> layout_;   // set if the tensor is in FRACTAL_NZ
    std::vector<int64_t> in_order_;  // the sizes in FRACTAL_NZ
    aclDataType float_type_ = ACL_DT_UNDEFINED;
    int64_t numbers_in_one_ = 1;
    int64_t packed_dim_ = 0;
};
using NamedPackable = std::pair<const char*, const PackableTensor&>;
inline PackableTensor read_packable(const char* name, const aclTensor* handle) {
    return {name, handle};
}
PackableTensor read_in_blocks(const char* name, const aclTensor* handle);  // reads a tensor in FRACTAL_NZ
std::vector<PackableTensor> read_packables(const char* name, const aclTensorList* handle);

// The data type of a quantised result is INT8, or four bits as INT4 or INT32.
aclDataType read_quantised_dtype(const char* name, aclDataType dtype);
// The data type comes as an int64, of which only the lower half is read: where torch_npu passes an int, the upper half is not defined.
aclDataType read_quantised_number(const char* name, int64_t number);

namespace kind {
using Packable = Kind<const aclTensor*, PackableTensor, const PackableTensor&, read_packable>;
using InBlocks = Kind<const aclTensor*, PackableTensor, const PackableTensor&, read_in_blocks>;
using Packables = Kind<const aclTensorList*, std::vector<PackableTensor>, const std::vector<PackableTensor>&, read_packables>;
using PackableOut = Kind<aclTensor*, PackableTensor, const PackableTensor&, read_packable>;
using QuantisedDType = Kind<aclDataType, aclDataType, aclDataType, read_quantised_dtype>;
using QuantisedNumber = Kind<int64_t, aclDataType, aclDataType, read_quantised_number>;
}  // namespace kind

// Shapes count numbers.
void require_expected(const char* name, const PackableTensor& tensor, const Expected& expected);
void require_expected(const char* name, const PackableTensor& tensor, const Rank& expected);
template <class Statement>
void require_expected(const char* name, const PackableTensor& tensor, const IfWanted<Statement>& expected) {
    if (expected.wanted) require_expected(name, tensor, expected.expected);
}

inline at::Tensor plus(const at::Tensor& x, const OptTensor& numbers) {
    return given(numbers) ? x.add(to_double(*numbers)) : x;
}
inline at::Tensor times(const at::Tensor& x, const OptTensor& factors) {
    return given(factors) ? x.mul(to_double(*factors)) : x;
}
// Divides or multiplies by scales, and adds offsets.
inline at::Tensor scaled(const at::Tensor& x, const at::Tensor& scale, const OptTensor& offset, bool divide) {
    return plus(divide ? x.div(to_double(scale)) : x.mul(to_double(scale)), offset);
}

void require_bytes(const char* name, const PackableTensor& y);

// Returns the numbers of a scale. INT64 and UINT64 have the bits of a FLOAT in their lower halves, as aclnnTransQuantParamV2 writes them.
at::Tensor scale_values(const at::Tensor& scale);

// Rounds to the nearest number, halfway cases to even, and cuts off at the ends of an integral data type's range.
void write_rounded(at::Tensor& out, const at::Tensor& numbers);

// Numbers between -largest and largest after rounding, and the scale that makes them so: the largest of each row by `largest`.
struct DynamicallyQuantised {
    at::Tensor numbers, scale;
};
DynamicallyQuantised quantise_rows(const at::Tensor& x, int64_t largest);
// Writes rows, quantised to the data type of y, in the shape of y.
void store_rows(const at::Tensor& rows, const PackableTensor& y, const OptTensor& scale);

// Returns for each of `rows` rows the row of `per_group` that its group has. Group i ends before row ends[i].
at::Tensor rows_of_groups(const at::Tensor& per_group, const at::Tensor& ends, int64_t rows);

}  // namespace torch_aclnn::host::aten
