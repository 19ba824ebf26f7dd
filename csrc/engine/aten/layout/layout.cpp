#include "engine/aten/layout/layout.h"

#include <ATen/ATen.h>

#include "engine/aten/adapter/relations.h"
#include "engine/opapi/handles.h"

namespace torch_aclnn::host::aten {

[[noreturn]] static void refuse_shape(const char* name, aclFormat format, const std::string& expected, at::IntArrayRef sizes) {
    refuse(name, expected + " for format " + to_string(format), shape_text(sizes));
}

// The shape lacks leading dimensions: the first that it has is C, then come H and W.
static std::vector<int64_t> as_nchw(const char* name, aclFormat format, at::IntArrayRef sizes) {
    if (sizes.size() > 4) refuse_shape(name, format, "at most 4 dimensions", sizes);
    if (sizes.size() == 4) return sizes.vec();
    std::vector<int64_t> dims(4, 1);
    std::copy(sizes.begin(), sizes.end(), dims.begin() + 1);
    return dims;
}

static std::vector<int64_t> as_ncdhw(const char* name, aclFormat format, at::IntArrayRef sizes) {
    if (sizes.size() != 5) refuse_shape(name, format, "5 dimensions", sizes);
    return sizes.vec();
}

static std::vector<int64_t> as_matrices(at::IntArrayRef sizes) {
    std::vector<int64_t> dims = sizes.vec();
    while (dims.size() < 2) dims.push_back(1);
    return dims;
}

static int64_t count_blocks(int64_t size, int64_t block) {
    return size / block + (size % block != 0);
}

bool Layout::describes(aclFormat format) {
    switch (static_cast<int>(format)) {
        case ACL_FORMAT_NC1HWC0:
        case ACL_FORMAT_NDC1HWC0:
        case kFractalZ:
        case kFractalZ3d:
        case ACL_FORMAT_FRACTAL_NZ:
        case ACL_FORMAT_NDHWC: return true;
        default: return false;
    }
}

Layout::Layout(const char* name, aclFormat format, at::IntArrayRef sizes, Block block) : sizes_(sizes.vec()) {
    for (const int64_t size : sizes)
        if (size < 0) refuse_shape(name, format, "no negative dimension", sizes);
    const auto [rows, columns] = block;
    if (rows < 1 || columns < 1) refuse(name, "blocks of at least one element", c10::str(rows, " by ", columns));
    switch (static_cast<int>(format)) {
        case ACL_FORMAT_NC1HWC0:
            dims_ = as_nchw(name, format, sizes);
            blocks_ = {0, columns, 0, 0};
            order_ = {0, 1, 3, 4, 2};
            break;
        case ACL_FORMAT_NDC1HWC0:
            dims_ = as_ncdhw(name, format, sizes);
            blocks_ = {0, columns, 0, 0, 0};
            order_ = {0, 3, 1, 4, 5, 2};
            break;
        case kFractalZ:
            dims_ = as_nchw(name, format, sizes);
            blocks_ = {rows, columns, 0, 0};
            order_ = {2, 4, 5, 0, 1, 3};
            merged_ = 3;
            break;
        case kFractalZ3d:
            dims_ = as_ncdhw(name, format, sizes);
            blocks_ = {rows, columns, 0, 0, 0};
            order_ = {4, 2, 5, 6, 0, 1, 3};
            merged_ = 4;
            break;
        case ACL_FORMAT_FRACTAL_NZ: {
            dims_ = as_matrices(sizes);
            const int64_t matrix = static_cast<int64_t>(dims_.size()) - 2;
            blocks_.assign(dims_.size(), 0);
            blocks_[matrix] = rows;
            blocks_[matrix + 1] = columns;
            for (int64_t d = 0; d < matrix; d++) order_.push_back(d);
            for (const int64_t piece : {2, 0, 1, 3}) order_.push_back(matrix + piece);
            break;
        }
        case ACL_FORMAT_NDHWC:
            dims_ = as_ncdhw(name, format, sizes);
            blocks_.assign(5, 0);
            order_ = {0, 2, 3, 4, 1};
            break;
        default: refuse(name, "a format with a layout", to_string(format));
    }
}

Layout Layout::in_memory(const char* name, aclFormat format, at::IntArrayRef sizes, at::IntArrayRef storage_sizes) {
    if (storage_sizes.size() < 2) refuse_shape(name, format, "2 or more dimensions in memory", storage_sizes);
    const Layout layout(name, format, sizes, {storage_sizes[storage_sizes.size() - 2], storage_sizes.back()});
    const std::vector<int64_t> expected = layout.storage_sizes();
    if (expected != storage_sizes)
        refuse_shape(name, format, c10::str("shape ", at::IntArrayRef(expected), " in memory of a tensor of shape ", sizes), storage_sizes);
    return layout;
}

// {N1, N0, C1, C0, H, W} of {N, C, H, W}, where N and C are cut.
std::vector<int64_t> Layout::pieces() const {
    std::vector<int64_t> pieces;
    for (size_t d = 0; d < dims_.size(); d++) {
        if (blocks_[d] == 0) {
            pieces.push_back(dims_[d]);
        } else {
            pieces.push_back(count_blocks(dims_[d], blocks_[d]));
            pieces.push_back(blocks_[d]);
        }
    }
    return pieces;
}

std::vector<int64_t> Layout::storage_sizes() const {
    const std::vector<int64_t> of = pieces();
    std::vector<int64_t> sizes = {1};
    for (size_t i = 0; i < order_.size(); i++) {
        if (i >= merged_)
            sizes.push_back(of[order_[i]]);
        else if (__builtin_mul_overflow(sizes[0], of[order_[i]], &sizes[0]))
            refuse("sizes", "a number of blocks that can be counted", shape_text(at::IntArrayRef(sizes_)));
    }
    return sizes;
}

std::vector<int64_t> Layout::filled() const {
    std::vector<int64_t> filled = dims_;
    for (size_t d = 0; d < dims_.size(); d++)
        if (blocks_[d] != 0) filled[d] = count_blocks(dims_[d], blocks_[d]) * blocks_[d];
    return filled;
}

at::Tensor Layout::used(at::Tensor of_filled) const {
    for (size_t d = 0; d < dims_.size(); d++) of_filled = of_filled.narrow(static_cast<int64_t>(d), 0, dims_[d]);
    return of_filled;
}

at::Tensor Layout::from_storage(const at::Tensor& storage) const {
    const std::vector<int64_t> of = pieces();
    std::vector<int64_t> in_memory, back(order_.size());
    for (size_t i = 0; i < order_.size(); i++) {
        in_memory.push_back(of[order_[i]]);
        back[order_[i]] = static_cast<int64_t>(i);
    }
    return used(storage.reshape(in_memory).permute(back).reshape(filled())).reshape(sizes_);
}

void Layout::to_storage(at::Tensor& storage, const at::Tensor& tensor) const {
    const at::Tensor with_zeros = at::zeros(filled(), storage.options());
    used(with_zeros).copy_(tensor.reshape(dims_));
    storage.copy_(with_zeros.reshape(pieces()).permute(order_).reshape(storage.sizes()));
}

std::unique_ptr<aclTensor> storage_of(const aclTensor& tensor) {
    auto storage = std::make_unique<aclTensor>();
    storage->data = tensor.data;
    storage->dtype = tensor.dtype;
    storage->format = ACL_FORMAT_ND;
    storage->sizes = storage->storage_sizes = tensor.storage_sizes;
    if (!checked_element_count(storage->sizes))
        refuse("storageDims", "a shape in memory whose elements can be counted",
               shape_text({storage->sizes.begin(), storage->sizes.end()}));
    const at::Tensor contiguous = at::empty({storage->sizes.begin(), storage->sizes.end()}, at::kMeta);
    storage->strides = Dims(contiguous.strides().data(), contiguous.dim());
    return storage;
}

}  // namespace torch_aclnn::host::aten
