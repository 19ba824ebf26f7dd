#include "engine/aten/quantization/packed_integers.h"

#include <ATen/ATen.h>

#include "engine/aten/numerics/results.h"
#include "engine/aten/quantization/low_precision_floats.h"
#include "engine/opapi/checks.h"

namespace torch_aclnn::host::aten {

// Returns the last dimension, or the one before it where the matrix is transposed.
static int64_t contiguous_dim(const aclTensor& tensor) {
    const int64_t last = static_cast<int64_t>(tensor.rank()) - 1;
    if (last < 1 || tensor.strides[last - 1] != 1) return last;
    const bool column = tensor.sizes[last - 1] == 1 && tensor.sizes[last] > 1;  // both strides are 1 then
    return column || tensor.strides[last] != 1 ? last - 1 : last;
}

// Whether the format is FRACTAL_NZ, whose blocks of four-bit numbers have a format of their own.
static bool is_in_blocks(const aclTensor& tensor) {
    return tensor.format == ACL_FORMAT_FRACTAL_NZ || (tensor.format == kFractalNzC032 && has_half_a_byte(tensor.dtype));
}

static at::Tensor read_codes(const char* name, const aclTensor& tensor) {
    const auto bytes = std::make_unique<aclTensor>(tensor);
    bytes->dtype = ACL_UINT8;
    return read_tensor(name, bytes.get());
}

static at::Tensor read_bytes(const char* name, const aclTensor& tensor, int64_t packed_dim) {
    const auto bytes = std::make_unique<aclTensor>(tensor);  // kept in the pool, where readers look for handles
    bytes->dtype = ACL_UINT8;
    bytes->offset /= 2;
    bool even = tensor.rank() > 0 && tensor.offset % 2 == 0 && tensor.sizes[packed_dim] % 2 == 0;
    for (uint64_t d = 0; d < tensor.rank(); d++) {
        if (static_cast<int64_t>(d) == packed_dim) continue;
        even = even && (tensor.sizes[d] < 2 || tensor.strides[d] % 2 == 0);
        bytes->strides[d] /= 2;
    }
    if (!even)
        refuse(name, "rows of four-bit numbers that begin and end with a byte",
               shape_text(at::IntArrayRef(tensor.sizes.begin(), tensor.sizes.end())));
    bytes->sizes[packed_dim] /= 2;
    return read_tensor(name, bytes.get());
}

PackableTensor::PackableTensor(const char* name, const aclTensor* handle) : name_(name) {
    require_handle(name, handle);
    packed_dim_ = contiguous_dim(*handle);
    if (is_in_blocks(*handle)) {
        read_layout(*handle);
        return;
    }
    if (is_few_bit_float(handle->dtype)) {
        require_few_bit_floats(name, handle->dtype);
        float_type_ = handle->dtype;
        if (!has_half_a_byte(float_type_)) {
            stored_ = read_codes(name, *handle);
            return;
        }
    }
    if (handle->dtype == ACL_INT4 || is_floating()) {
        numbers_in_one_ = 2;
        if (handle->rank() > 8) refuse(name, "at most 8 dimensions", std::to_string(handle->rank()));
        stored_ = read_bytes(name, *handle, packed_dim_);
        return;
    }
    stored_ = read_tensor(name, handle);
    if (handle->dtype == ACL_INT32 && handle->rank() > 0) numbers_in_one_ = 8;
}

void PackableTensor::read_layout(const aclTensor& handle) {
    const auto rank = static_cast<int64_t>(handle.rank());
    if (rank < 2 || rank > 6) refuse(name_, "2 to 6 dimensions for format FRACTAL_NZ", std::to_string(rank));
    if (handle.offset != 0) refuse(name_, "no offset, as its format is private", std::to_string(handle.offset));
    in_order_.assign(handle.sizes.begin(), handle.sizes.end());
    if (packed_dim_ == rank - 2) std::swap(in_order_[rank - 1], in_order_[rank - 2]);
    const auto filled = std::make_unique<aclTensor>(handle);
    if (is_few_bit_float(handle.dtype)) {
        require_few_bit_floats(name_, handle.dtype);
        float_type_ = handle.dtype;
        filled->dtype = ACL_UINT8;
    }
    const uint64_t last = filled->storage_sizes.size() - 1;  // its rows are of blocks, in which a byte holds two four-bit numbers
    if (has_half_a_byte(handle.dtype) && filled->storage_sizes.size() > 0) {
        if (in_order_.back() % 2 != 0 || filled->storage_sizes[last] % 2 != 0)
            refuse(name_, "rows of four-bit numbers that end with a byte", shape_text(in_order_));
        numbers_in_one_ = 2;
        in_order_.back() /= 2;
        filled->storage_sizes[last] /= 2;
    }
    layout_ = Layout::in_memory(name_, ACL_FORMAT_FRACTAL_NZ, in_order_,
                                at::IntArrayRef(filled->storage_sizes.begin(), filled->storage_sizes.end()));
    const auto storage = storage_of(*filled);
    stored_ = read_tensor(name_, storage.get());
    if (handle.dtype == ACL_INT32) numbers_in_one_ = 8;
}

at::Tensor PackableTensor::placeholder() const {
    return at::empty({}, at::kMeta).expand(sizes());
}

at::Tensor& PackableTensor::detached() {
    if (layout_) stored_ = at::zeros({}, stored_.options()).expand(in_order_);
    layout_.reset();
    return stored_;
}

at::Tensor PackableTensor::plain() const {
    const at::Tensor in_order = layout_ ? layout_->from_storage(stored_) : stored_;
    return !in_order_.empty() && packed_dim_ == in_order.dim() - 2 ? in_order.mT() : in_order;
}

std::vector<int64_t> PackableTensor::sizes() const {
    std::vector<int64_t> sizes = layout_ ? in_order_ : stored_.sizes().vec();
    if (!in_order_.empty() && packed_dim_ == static_cast<int64_t>(sizes.size()) - 2) std::swap(sizes[packed_dim_], sizes[packed_dim_ + 1]);
    if (has_four_bits()) sizes[packed_dim_] *= numbers_in_one_;
    return sizes;
}

at::Tensor PackableTensor::unpacked() const {
    const at::Tensor stored = plain();
    if (!has_four_bits()) return stored;
    std::vector<at::Tensor> numbers;
    for (int64_t i = 0; i < numbers_in_one_; i++) numbers.push_back(at::bitwise_and(at::bitwise_right_shift(stored, 4 * i), 15));
    return at::stack(numbers, packed_dim_ + 1).flatten(packed_dim_, packed_dim_ + 1);
}

at::Tensor PackableTensor::values() const {
    const at::Tensor bits = unpacked();
    if (is_floating()) return decoded(bits, float_type_);
    return has_four_bits() ? at::bitwise_xor(bits.to(at::kChar), 8) - 8 : bits;  // the highest bit is the sign
}

at::Tensor PackableTensor::packed(const at::Tensor& bits) const {
    const at::Tensor side_by_side = bits.unflatten(packed_dim_, {-1, numbers_in_one_});
    at::Tensor packed = side_by_side.select(packed_dim_ + 1, 0);
    for (int64_t i = 1; i < numbers_in_one_; i++)
        packed = at::bitwise_or(packed, at::bitwise_left_shift(side_by_side.select(packed_dim_ + 1, i), 4 * i));
    return packed;
}

void PackableTensor::store(const at::Tensor& numbers, std::string_view rounding) const {
    if (numbers.sizes() != at::IntArrayRef(sizes())) refuse(name_, c10::str("the result's shape ", numbers.sizes()), shape_text(sizes()));
    at::Tensor stored = stored_;
    if (!is_floating() && !has_four_bits()) return write_rounded(stored, numbers);
    const at::Tensor bits = is_floating() ? encoded(numbers, float_type_, rounding).to(at::kLong)
                                          : at::bitwise_and(at::round(numbers).clamp(-8, 7).to(at::kLong), 15);
    const at::Tensor result = has_four_bits() ? packed(bits) : bits;
    if (!layout_) {
        stored.copy_(result);
        return;
    }
    layout_->to_storage(stored, packed_dim_ == result.dim() - 2 ? result.mT() : result);
}

PackableTensor read_in_blocks(const char* name, const aclTensor* handle) {
    require_handle(name, handle);
    if (!is_in_blocks(*handle)) refuse(name, "format FRACTAL_NZ", to_string(handle->format));
    return {name, handle};
}

std::vector<PackableTensor> read_packables(const char* name, const aclTensorList* handle) {
    require_handle(name, handle);
    std::vector<PackableTensor> tensors;
    for (const auto& member : handle->members) {
        if (!member) refuse_null(name, "a tensor in each place");
        tensors.push_back(read_packable(name, member.get()));
    }
    return tensors;
}

void require_expected(const char* name, const PackableTensor& tensor, const Expected& expected) {
    require_sizes(name, tensor.sizes(), expected, ", in numbers");
}
void require_expected(const char* name, const PackableTensor& tensor, const Rank& expected) {
    require_rank(name, tensor.sizes(), expected);
}

aclDataType read_quantised_dtype(const char* name, aclDataType dtype) {
    if (dtype != ACL_INT8 && dtype != ACL_INT4 && dtype != ACL_INT32) refuse(name, "INT8, INT4 or INT32", to_string(dtype));
    return dtype;
}

aclDataType read_quantised_number(const char* name, int64_t number) {
    return read_quantised_dtype(name, static_cast<aclDataType>(static_cast<int32_t>(number)));
}

void require_bytes(const char* name, const PackableTensor& y) {
    if (y.scalar_type() != at::kChar || y.has_four_bits()) refuse(name, "a data type of INT8", c10::str(y.scalar_type()));
}

at::Tensor scale_values(const at::Tensor& scale) {
    if (scale.scalar_type() != at::kLong && scale.scalar_type() != at::kUInt64) return to_double(scale);
    return to_double(scale.contiguous().view(at::kLong).to(at::kInt).view(at::kFloat));
}

void write_rounded(at::Tensor& out, const at::Tensor& numbers) {
    switch (out.scalar_type()) {
        case at::kChar: return write(out, at::round(numbers).clamp(-128, 127));
        case at::kByte: return write(out, at::round(numbers).clamp(0, 255));
        case at::kInt:
            return write(out, at::round(numbers).clamp(std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max()));
        default: return write(out, numbers);
    }
}

DynamicallyQuantised quantise_rows(const at::Tensor& x, int64_t largest) {
    // A row without elements has no largest one.
    const at::Tensor scale = x.numel() == 0 ? x.sum(-1, true) : x.abs().amax(-1, true) / largest;
    return {at::where(scale == 0, x, x / scale), scale.squeeze(-1)};  // a row of zeros stays a row of zeros
}

void store_rows(const at::Tensor& rows, const PackableTensor& y, const OptTensor& scale) {
    const DynamicallyQuantised result = quantise_rows(rows, y.largest());
    y.store(result.numbers.view(y.sizes()));
    write(scale, result.scale);
}

at::Tensor rows_of_groups(const at::Tensor& per_group, const at::Tensor& ends, int64_t rows) {
    const at::Tensor group = at::searchsorted(ends.to(at::kLong).contiguous(), at::arange(rows), false, /*right=*/true);
    return per_group.index_select(0, group.clamp_max(per_group.size(0) - 1));
}

}  // namespace torch_aclnn::host::aten
