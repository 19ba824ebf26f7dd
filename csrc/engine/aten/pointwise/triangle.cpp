#include "engine/aten/pointwise/triangle.h"

#include <ATen/Parallel.h>
#include <ATen/ops/tril.h>
#include <ATen/ops/triu.h>

#include <algorithm>
#include <cstring>

#include "engine/aten/numerics/results.h"

namespace torch_aclnn::host::aten {

// Whether rows can be copied as bytes, from memory that is the result's or shares none with it.
static bool has_rows_of_bytes(const at::Tensor& out, const at::Tensor& self) {
    const char *const from = static_cast<const char*>(self.const_data_ptr()), *const to = static_cast<const char*>(out.const_data_ptr());
    const auto bytes = static_cast<int64_t>(self.nbytes());
    return self.dim() >= 2 && self.sizes() == out.sizes() && self.dtype() == out.dtype() && self.is_contiguous() && out.is_contiguous() &&
           (from == to || from + bytes <= to || to + bytes <= from);
}

// ATen goes from element to element, which is slow for the mask of 2048x2048 that torch_npu makes for each causal attention.
void write_triangle(const at::Tensor& out, const at::Tensor& self, int64_t diagonal, Triangle triangle) {
    const bool is_upper = triangle == Triangle::upper;
    if (self.numel() == 0 || !has_rows_of_bytes(out, self)) {
        const at::Tensor bits = as_signed(self), part = is_upper ? at::triu(bits, diagonal) : at::tril(bits, diagonal);
        out.copy_(part.view(self.scalar_type()));
        return;
    }
    const int64_t rows = self.size(-2), columns = self.size(-1), size = self.element_size();
    const int64_t first = std::clamp(diagonal, -rows, columns);  // the column of the diagonal in row 0
    const auto* const source = static_cast<const char*>(self.const_data_ptr());
    auto* const target = static_cast<char*>(out.mutable_data_ptr());
    constexpr int64_t kGrain = 32768;  // ATen's, in elements
    at::parallel_for(0, self.numel() / columns, std::max<int64_t>(1, kGrain / columns), [&](int64_t begin, int64_t end) {
        for (int64_t row = begin; row < end; ++row) {
            const int64_t split = std::clamp<int64_t>(row % rows + first + (is_upper ? 0 : 1), 0, columns) * size;
            const int64_t kept = is_upper ? split : 0, kept_end = is_upper ? columns * size : split;
            const char* const from = source + row * columns * size;
            char* const to = target + row * columns * size;
            std::memset(to, 0, kept);
            if (from != to) std::memcpy(to + kept, from + kept, kept_end - kept);
            std::memset(to + kept_end, 0, columns * size - kept_end);
        }
    });
}

}  // namespace torch_aclnn::host::aten
