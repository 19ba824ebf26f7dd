#include "kernels/max_unpool3d_backward.h"

#include <algorithm>
#include <mutex>

#include "kernels/parallel.h"

namespace torch_aclnn::kernels {
namespace {

struct Position {
    int64_t at[5];

    Position(int64_t linear, const int64_t size[5]) {
        for (int d = 4; d >= 0; linear /= size[d--]) at[d] = linear % size[d];
    }
    int64_t offset(const int64_t stride[5]) const {
        int64_t sum = 0;
        for (int d = 0; d < 5; ++d) sum += at[d] * stride[d];
        return sum;
    }
};

// Where element `index` of a flattened D*H*W plane lies.
int64_t plane_offset(int64_t index, const View<5>& view) {
    const int64_t width = view.size[4], height = view.size[3];
    return index % width * view.stride[4] + index / width % height * view.stride[3] + index / width / height * view.stride[2];
}

// Keeps the smallest position of a bad index, so that the report does not depend on the number of threads.
class FirstBadIndex {
   public:
    void add(int64_t linear, int64_t index) {
        const std::lock_guard<std::mutex> lock(mutex_);
        if (linear_ < 0 || linear < linear_) linear_ = linear, index_ = index;
    }
    std::optional<BadIndex> get(const int64_t size[5]) const {
        if (linear_ < 0) return std::nullopt;
        BadIndex bad;
        std::copy_n(Position(linear_, size).at, 5, bad.position);
        bad.index = index_;
        return bad;
    }

   private:
    std::mutex mutex_;
    int64_t linear_ = -1, index_ = 0;
};

template <class Bits>
void gather(const View<5>& grad_output, const View<5>& indices, const View<5>& out, int thread_count, FirstBadIndex& first_bad) {
    const int64_t plane_size = grad_output.size[2] * grad_output.size[3] * grad_output.size[4];
    const int64_t width = out.size[4];
    const int64_t row_count = out.size[0] * out.size[1] * out.size[2] * out.size[3];
    parallel_for(row_count, width, thread_count, [&](int64_t begin, int64_t end) {
        for (int64_t row = begin; row < end; ++row) {
            const Position start(row * width, out.size);
            const Bits* plane =
                static_cast<const Bits*>(grad_output.data) + start.at[0] * grad_output.stride[0] + start.at[1] * grad_output.stride[1];
            const int64_t* index_row = static_cast<const int64_t*>(indices.data) + start.offset(indices.stride);
            Bits* out_row = static_cast<Bits*>(out.data) + start.offset(out.stride);
            bool row_is_bad = false;
            for (int64_t w = 0; w < width; ++w) {
                const int64_t index = index_row[w * indices.stride[4]];
                const bool inside = index >= 0 && index < plane_size;
                out_row[w * out.stride[4]] = inside ? plane[plane_offset(index, grad_output)] : Bits{};
                if (!inside && !row_is_bad) first_bad.add(row * width + w, index);
                row_is_bad |= !inside;
            }
        }
    });
}

}  // namespace

std::optional<BadIndex> max_unpool3d_backward(const View<5>& grad_output, const View<5>& indices, const View<5>& out, int thread_count) {
    if (out.empty()) return std::nullopt;
    FirstBadIndex first_bad;
    switch (element_size(out.dtype)) {
        case 1: gather<uint8_t>(grad_output, indices, out, thread_count, first_bad); break;
        case 2: gather<uint16_t>(grad_output, indices, out, thread_count, first_bad); break;
        case 4: gather<uint32_t>(grad_output, indices, out, thread_count, first_bad); break;
        default: gather<uint64_t>(grad_output, indices, out, thread_count, first_bad); break;
    }
    return first_bad.get(out.size);
}

}  // namespace torch_aclnn::kernels
