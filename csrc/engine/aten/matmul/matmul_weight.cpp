// Weights of products of matrices in the layout that a chip likes best. The engine's products take either layout, so these operators only
// convert memory.

#include "engine/aten/layout/layout.h"
#include "engine/aten/matmul/matmul.h"
#include "engine/aten/numerics/matmul_precision.h"
#include "engine/runtime/memory/host_view.h"
#include "vocabulary/matmul/matmul_weight_calls.h"

using namespace torch_aclnn::host;

namespace {

// A block has 16 rows of 32 bytes.
Layout layout_of(const char* name, at::IntArrayRef sizes, int64_t item) {
    return {name, ACL_FORMAT_FRACTAL_NZ, sizes, {16, 32 / item}};
}

// A weight that is rearranged in place. Its storage has room for the padding of the blocks.
class Weight {
   public:
    Weight(const char* name, aclTensor* handle)
        : plain_(read_tensor(name, handle)),
          layout_(layout_of(name, plain_.sizes(), static_cast<int64_t>(plain_.element_size()))),
          handle_(handle) {
        if (plain_.dim() < 2 || plain_.dim() > 6) refuse(name, "2 to 6 dimensions", shape_text(plain_.sizes()));
        if (!plain_.is_contiguous()) refuse(name, "elements in the order of their places", c10::str("strides ", plain_.strides()));
        const size_t bytes = static_cast<size_t>(c10::multiply_integers(layout_.storage_sizes())) * plain_.element_size();
        const auto memory = device_memory_at(handle->first_element(), bytes);
        const auto stored = checked_element_count(handle->storage_sizes);
        const size_t declared = stored ? static_cast<size_t>(*stored) * plain_.element_size() : 0;
        const size_t room = memory ? std::min(memory->reach, declared) : 0;
        if (plain_.numel() > 0 && room < bytes) refuse(name, c10::str("room for ", bytes, " bytes"), c10::str(room));
    }

    void rearrange() {
        const std::vector<int64_t> sizes = layout_.storage_sizes();
        at::Tensor storage = at::from_blob(plain_.data_ptr(), sizes, plain_.options());
        layout_.to_storage(storage, plain_.clone());
        handle_->format = ACL_FORMAT_FRACTAL_NZ;
        handle_->storage_sizes = Dims(sizes.data(), sizes.size());
    }

   private:
    at::Tensor plain_;
    Layout layout_;
    aclTensor* handle_;
};

Weight read_weight(const char* name, aclTensor* handle) {
    return {name, handle};
}

// The product is one with a weight in blocks, of so many dimensions.
Expected product_with(const at::Tensor& self, const PackableTensor& weight, size_t least, size_t most) {
    const std::vector<int64_t> left = self.sizes().vec(), right = weight.sizes();
    if (left.size() < least || left.size() > most) refuse("self", c10::str(least, " to ", most, " dimensions"), shape_text(left));
    require_factors("self", left, "mat2", right);
    return product_shape(left, right);
}

aclnnStatus calculate_size(const char* function, const aclIntArray* shape, aclDataType dtype, uint64_t* size) {
    return aclnn_guarded(function, [&] {
        require_not_null("weightTensorSize", size);
        const at::IntArrayRef sizes = read_shape("tensorShape", shape);
        if (sizes.size() < 2 || sizes.size() > 6) refuse("tensorShape", "2 to 6 dimensions", c10::str(sizes));
        if (!(FLOAT16 | BF16 | INT8).has(dtype)) refuse("dataType", "FLOAT16, BF16 or INT8", to_string(dtype));
        const auto stored = layout_of("tensorShape", sizes, static_cast<int64_t>(aclDataTypeSize(dtype))).storage_sizes();
        const auto count = checked_element_count(Dims(stored.data(), stored.size()));
        if (!count) refuse("tensorShape", "fewer than 2^63 elements", c10::str(sizes));
        *size = static_cast<uint64_t>(*count);
    });
}

}  // namespace

namespace torch_aclnn::host::aten::kind {
using MatmulWeight = Kind<aclTensor*, Weight, Weight&, read_weight>;
}  // namespace torch_aclnn::host::aten::kind

// The size is in elements. Where no data type is given, they are taken to have two bytes.
extern "C" TORCH_ACLNN_HOST_API aclnnStatus aclnnCalculateMatmulWeightSize(const aclIntArray* tensorShape, uint64_t* weightTensorSize) {
    return calculate_size(__func__, tensorShape, ACL_FLOAT16, weightTensorSize);
}
extern "C" TORCH_ACLNN_HOST_API aclnnStatus aclnnCalculateMatmulWeightSizeV2(const aclIntArray* tensorShape, aclDataType dataType,
                                                                             uint64_t* weightTensorSize) {
    return calculate_size(__func__, tensorShape, dataType, weightTensorSize);
}
