// The chips' private layouts of a tensor's elements, in which no strides describe the memory.
//
// Each cuts some dimensions into blocks, orders the pieces anew and fills up what a last block lacks with zeros:
//
//     NC1HWC0        {N, C, H, W}     as {N, C1, H, W, C0}
//     NDC1HWC0       {N, C, D, H, W}  as {N, D, C1, H, W, C0}
//     FRACTAL_Z      {N, C, H, W}     as {C1 H W, N1, N0, C0}
//     FRACTAL_Z_3D   {N, C, D, H, W}  as {D C1 H W, N1, N0, C0}
//     FRACTAL_NZ     {..., M, N}      as {..., N1, M1, M0, N0}
//     NDHWC          {N, C, D, H, W}  as {N, D, H, W, C}, without blocks
#pragma once

#include <ATen/core/Tensor.h>

#include "acl/acl.h"
#include "engine/opapi/handles.h"

namespace torch_aclnn::host::aten {

// The public header has no names for these.
constexpr aclFormat kFractalZ = static_cast<aclFormat>(4), kFractalZ3d = static_cast<aclFormat>(33),
                    kFractalNzC032 = static_cast<aclFormat>(51);  // FRACTAL_NZ with N0 of 32

class Layout {
   public:
    // The sizes of the blocks, of which a format with one kind of block has the second.
    struct Block {
        int64_t rows, columns;
    };

    static bool describes(aclFormat format);

    // The layout of a tensor of the shape `sizes`. Refuses a shape that the format does not take; `name` is the parameter's.
    Layout(const char* name, aclFormat format, at::IntArrayRef sizes, Block block);
    // The blocks are those of the shape in memory, which must be the one that the format gives.
    static Layout in_memory(const char* name, aclFormat format, at::IntArrayRef sizes, at::IntArrayRef storage_sizes);

    std::vector<int64_t> storage_sizes() const;
    at::Tensor from_storage(const at::Tensor& storage) const;
    // Writes all of the storage, zeros where the tensor has no element.
    void to_storage(at::Tensor& storage, const at::Tensor& tensor) const;

   private:
    std::vector<int64_t> pieces() const;
    std::vector<int64_t> filled() const;          // the dimensions with full blocks
    at::Tensor used(at::Tensor of_filled) const;  // without what fills them up

    std::vector<int64_t> sizes_;   // the tensor's sizes
    std::vector<int64_t> dims_;    // the dimensions, with those that the format adds
    std::vector<int64_t> blocks_;  // the block's size of each dimension; 0: it is not cut
    std::vector<int64_t> order_;   // the order of the pieces in memory
    size_t merged_ = 1;            // how many of the first pieces are one dimension in memory
};

// Returns the memory of a tensor in such a layout as a plain tensor, among the handles that readers know.
std::unique_ptr<aclTensor> storage_of(const aclTensor& tensor);

}  // namespace torch_aclnn::host::aten
