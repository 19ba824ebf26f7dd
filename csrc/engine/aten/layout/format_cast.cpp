// Conversions between plain formats and the chips' private ones.

#include "engine/aten/layout/layout.h"
#include "engine/runtime/config/config.h"
#include "engine/runtime/memory/host_view.h"
#include "vocabulary/layout/format_cast_calls.h"

using namespace torch_aclnn::host;

namespace torch_aclnn::host::aten {
namespace {

constexpr int64_t kBlockRows = 16, kBlockBytes = 32;

// The plain format that goes with a private one on A2 and A3. For other pairs torch_npu casts by itself there.
struct Pair {
    aclFormat plain, other;
};
constexpr Pair kPairs[] = {
    {ACL_FORMAT_ND, ACL_FORMAT_FRACTAL_NZ}, {ACL_FORMAT_NCDHW, ACL_FORMAT_NDC1HWC0}, {ACL_FORMAT_NCDHW, kFractalZ3d}};

at::IntArrayRef sizes_of(const Dims& dims) {
    return {dims.begin(), dims.end()};
}

// A tensor in a plain format, or in a private one, which fills its storage.
class Laid {
   public:
    Laid(const char* name, const aclTensor* handle) {
        require_handle(name, handle);
        if (is_public(handle->format)) {
            plain_ = read_tensor(name, handle);
            return;
        }
        if (!Layout::describes(handle->format)) refuse(name, "a plain format or one with a layout", to_string(handle->format));
        if (handle->offset != 0) refuse(name, "no offset, as its format is private", std::to_string(handle->offset));
        if (!checked_element_count(handle->storage_sizes))
            refuse(name, "a shape in memory whose elements can be counted", c10::str(sizes_of(handle->storage_sizes)));
        layout_ = Layout::in_memory(name, handle->format, sizes_of(handle->sizes), sizes_of(handle->storage_sizes));
        sizes_ = sizes_of(handle->sizes).vec();
        plain_ = read_tensor(name, storage_of(*handle).get());
    }

    at::Tensor read() const { return layout_ ? layout_->from_storage(plain_) : plain_; }
    void write(const at::Tensor& tensor) const {
        at::Tensor place = plain_;
        if (layout_)
            layout_->to_storage(place, tensor);
        else
            place.copy_(tensor);
    }
    at::IntArrayRef sizes() const { return layout_ ? at::IntArrayRef(sizes_) : plain_.sizes(); }
    at::ScalarType type() const { return plain_.scalar_type(); }

   private:
    at::Tensor plain_;  // the plain tensor, or the storage
    std::optional<Layout> layout_;
    std::vector<int64_t> sizes_;
};

Laid read_laid(const char* name, const aclTensor* handle) {
    return {name, handle};
}

void check(const Laid& src, const Laid& dst) {
    require_same_shape({"dstTensor", at::empty(dst.sizes(), at::kMeta)}, {"srcTensor", at::empty(src.sizes(), at::kMeta)});
    if (dst.type() != src.type()) refuse("dstTensor", c10::str("the data type of srcTensor, ", src.type()), c10::str(dst.type()));
}

// 161002 unless the page has the conversion, in one direction or the other. On the 950 torch_npu passes any plain format for ND.
void require_pair(aclFormat from, aclFormat to) {
    if (config().product == Product::ascend950 && (is_public(to) || Layout::describes(to))) return;
    std::string taken;
    for (const auto& [plain, other] : kPairs) {
        if ((from == plain && to == other) || (from == other && to == plain)) return;
        taken += (taken.empty() ? "" : ", ") + to_string(plain) + " and " + to_string(other);
    }
    refuse("dstFormat", "one of the formats " + taken + " for a srcTensor in the other", to_string(from) + " to " + to_string(to));
}

int64_t block_columns(const char* name, int data_type) {
    const size_t bytes = aclDataTypeSize(static_cast<aclDataType>(data_type));
    if (bytes == 0 || bytes > kBlockBytes) refuse(name, "a data type with a size", std::to_string(data_type));
    return kBlockBytes / static_cast<int64_t>(bytes);
}

}  // namespace
}  // namespace torch_aclnn::host::aten

namespace torch_aclnn::host::aten::kind {
using AnyFormat = Kind<const aclTensor*, Laid, const Laid&, read_laid>;
using AnyFormatOut = Kind<aclTensor*, Laid, const Laid&, read_laid>;
}  // namespace torch_aclnn::host::aten::kind

static constexpr DTypes kCastTypes = FLOATING | INT8 | UINT8 | INT32 | UINT32;

// The shape in memory and the format of a conversion's result, before there is one. The caller frees the shape with delete[].
extern "C" TORCH_ACLNN_HOST_API aclnnStatus aclnnNpuFormatCastCalculateSizeAndFormat(const aclTensor* srcTensor, const int dstFormat,
                                                                                     int additionalDtype, int64_t** dstShape,
                                                                                     uint64_t* dstShapeSize, int* actualFormat) {
    const auto body = [&] {
        require_handle("srcTensor", srcTensor);
        require_not_null("dstShape", dstShape);
        require_not_null("dstShapeSize", dstShapeSize);
        require_not_null("actualFormat", actualFormat);
        require_dtype({"srcTensor", srcTensor}, kCastTypes);
        const auto format = static_cast<aclFormat>(dstFormat);
        require_pair(srcTensor->format, format);
        const at::IntArrayRef sizes = sizes_of(srcTensor->sizes);
        std::vector<int64_t> shape = sizes.vec();
        if (!is_public(format)) {
            // Only the blocks of matrices may be those of another data type.
            const bool chosen = format == ACL_FORMAT_FRACTAL_NZ && additionalDtype != ACL_DT_UNDEFINED;
            const int64_t columns = block_columns("additionalDtype", chosen ? additionalDtype : srcTensor->dtype);
            shape = Layout("srcTensor", format, sizes, {kBlockRows, columns}).storage_sizes();
        }
        *dstShape = new int64_t[shape.size()];
        std::copy(shape.begin(), shape.end(), *dstShape);
        *dstShapeSize = shape.size();
        *actualFormat = dstFormat;
    };
    return aclnn_guarded(__func__, body);
}
