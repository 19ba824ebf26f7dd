// Max unpooling backward: a gather within each plane. A few indices are checked at once and then gathered without branches; of more the
// checks would keep elements that are still on their way from memory apart.
#include "kernels/max_unpool3d_backward/job.h"
#include "kernels/simd/row_pieces.h"

namespace torch_aclnn::kernels::KERNEL_ISA {
namespace {

template <class Bits>
class Gather {
   public:
    explicit Gather(const MaxUnpoolJob& job) : job_(job) {}

    FirstBad run(int64_t begin, int64_t end) {
        if (has_short_planes()) {
            const int64_t size = job_.loop.size[1], first_plane = smaller((begin + size - 1) / size * size, end);
            run_rows(begin, first_plane);
            begin = run_short_planes(first_plane, end);
        }
        run_rows(begin, end);
        return first_bad_;
    }

   private:
    static constexpr int64_t kBlock = 64, kGroup = 8;
    static constexpr int64_t kAhead = MaxUnpoolJob::kAhead;
    static constexpr int64_t kBytesPerElement = 128;  // two lines of a plane
    static constexpr int64_t kShortPlane = 256;       // more elements are worth a prefetch

    struct Piece {
        const int64_t* indices;
        Bits* out;
        const Bits* plane;
        int64_t linear;
    };

    void run_rows(int64_t begin, int64_t end) {
        const int64_t* const strides[] = {job_.indices.stride, job_.out.stride, job_.plane.stride, job_.logical_stride};
        const int64_t ahead = job_.rows_ahead > 0 ? job_.rows_ahead * job_.indices.stride[row_ - 1] : 0;
        int64_t left = end - begin;
        for_row_pieces(job_.loop, strides, begin, end, [&](const int64_t* offsets, int64_t count) {
            const bool prefetches_rows = ahead > 0 && left >= job_.rows_ahead * job_.loop.size[row_] + count;
            left -= count;
            Piece piece{static_cast<const int64_t*>(job_.indices.data) + offsets[0], static_cast<Bits*>(job_.out.data) + offsets[1],
                        static_cast<const Bits*>(job_.plane.data) + offsets[2], offsets[3]};
            for (; count > 0; count -= kBlock) {
                const int64_t block = smaller(kBlock, count);
                if (prefetches_rows)
                    prefetch(piece.plane, piece.indices + ahead, block);
                else if (job_.prefetch_elements && count >= kAhead + kBlock)
                    prefetch(piece.plane + kAhead * job_.plane.stride[row_], piece.indices + kAhead * job_.indices.stride[row_], kBlock);
                gather_block(piece, block);
                piece.indices += kBlock * job_.indices.stride[row_];
                piece.out += kBlock * job_.out.stride[row_];
                piece.plane += kBlock * job_.plane.stride[row_];
                piece.linear += kBlock * job_.logical_stride[row_];
            }
        });
    }

    // Planes of few elements, all of them adjacent, and the planes of indices follow each other.
    bool has_short_planes() const {
        if (job_.loop.rank != 2 || job_.loop.size[1] > kShortPlane || job_.element_stride != 1 || job_.plane.stride[1] != 0) return false;
        const int64_t size = job_.loop.size[1];
        return job_.indices.stride[1] == 1 && job_.out.stride[1] == 1 && job_.indices.stride[0] == size;
    }

    // Does whole planes from the beginning of one on, up to the first with an index outside. Returns how far it came.
    int64_t run_short_planes(int64_t begin, int64_t end) {
        const int64_t size = job_.loop.size[1], group = size < kBlock ? kBlock / size : 1;
        const auto* const indices = static_cast<const int64_t*>(job_.indices.data);
        const bool prefetches = job_.prefetch_planes && touches_most_lines();
        int64_t plane = begin / size;
        for (int64_t count; plane < end / size; plane += count) {
            count = smaller(group, end / size - plane);
            if (prefetches && plane + 2 * count <= end / size) prefetch_planes(plane + count, plane + 2 * count);
            for (int64_t i = plane; i < plane + count; ++i) {
                const int64_t* const of_plane = indices + i * size;
                const Bits* const source = static_cast<const Bits*>(job_.plane.data) + i * job_.plane.stride[0];
                Bits* const out = static_cast<Bits*>(job_.out.data) + i * job_.out.stride[0];
                if (gather_adjacent(source, of_plane, out, size) < size) return i * size;
            }
        }
        return plane * size;
    }

    // If so, a plane is read as a whole, in the order of memory, sooner than in the order of the indices.
    bool touches_most_lines() const { return plane_bytes() <= kBytesPerElement * job_.loop.size[1]; }

    void prefetch_planes(int64_t begin, int64_t end) const {
        const auto* const planes = static_cast<const Bits*>(job_.plane.data);
        for (int64_t i = begin; i < end; ++i) prefetch_bytes(planes + i * job_.plane.stride[0], plane_bytes());
    }

    int64_t plane_bytes() const { return job_.plane_size * static_cast<int64_t>(sizeof(Bits)); }

    void gather_block(const Piece& piece, int64_t count) {
        const int64_t step = job_.indices.stride[row_], out_step = job_.out.stride[row_], plane_step = job_.plane.stride[row_];
        const bool from_one_plane = job_.element_stride != 0 && plane_step == 0;
        if (step != 1) {
            if (!from_one_plane || !gather_strided(piece, count)) gather_checked(piece, count);
        } else if (from_one_plane && job_.element_stride == 1 && out_step == 1) {
            if (gather_adjacent(piece.plane, piece.indices, piece.out, count) < count) gather_checked(piece, count);
        } else if (!all_inside(piece.indices, count)) {
            gather_checked(piece, count);
        } else if (from_one_plane) {
            gather_apart(piece, count);
        } else {
            for (int64_t i = 0; i < count; ++i) piece.out[i * out_step] = piece.plane[i * plane_step + plane_offset(piece.indices[i])];
        }
    }

    // Everything adjacent. Returns how many were done before a group with an index outside.
    int64_t gather_adjacent(const Bits* plane, const int64_t* indices, Bits* out, int64_t count) const {
        int64_t i = 0;
        for (; i + kGroup <= count; i += kGroup) {
            if (!all_inside(indices + i, kGroup)) return i;
            Bits values[kGroup];
            for (int64_t k = 0; k < kGroup; ++k) values[k] = plane[indices[i + k]];
            for (int64_t k = 0; k < kGroup; ++k) out[i + k] = values[k];
        }
        for (; i < count; ++i) {
            if (!all_inside(indices + i, 1)) return i;
            out[i] = plane[indices[i]];
        }
        return count;
    }

    // By adjacent indices, from one plane whose elements are not adjacent.
    __attribute__((noinline)) void gather_apart(const Piece& piece, int64_t count) const {
        const int64_t distance = job_.element_stride, out_step = job_.out.stride[row_];
        for (int64_t i = 0; i < count; ++i) piece.out[i * out_step] = piece.plane[piece.indices[i] * distance];
    }

    // By indices that are not adjacent, which no vector checks; false where one is outside.
    __attribute__((noinline)) bool gather_strided(const Piece& piece, int64_t count) const {
        const int64_t step = job_.indices.stride[row_], distance = job_.element_stride, out_step = job_.out.stride[row_];
        const auto size = static_cast<uint64_t>(job_.plane_size);
        for (int64_t i = 0; i < count; ++i) {
            const int64_t index = piece.indices[i * step];
            if (static_cast<uint64_t>(index) >= size) return false;
            piece.out[i * out_step] = piece.plane[index * distance];
        }
        return true;
    }

    // The elements of a later block, which are scattered over the plane. A prefetch does not fault, so its indices need no check.
    void prefetch(const Bits* plane, const int64_t* indices, int64_t count) const {
        const int64_t step = job_.indices.stride[row_], plane_step = job_.plane.stride[row_];
        const auto base = reinterpret_cast<uintptr_t>(plane);
        for (int64_t i = 0; i < count; ++i) {
            const uint64_t element = static_cast<uint64_t>(indices[i * step]) * job_.element_stride + i * plane_step;
            __builtin_prefetch(reinterpret_cast<const void*>(base + element * sizeof(Bits)));
        }
    }

    bool all_inside(const int64_t* indices, int64_t count) const {
        const uint64_t last = static_cast<uint64_t>(job_.plane_size) - 1;
        uint64_t sign = 0;
        for (int64_t i = 0; i < count; ++i) sign |= static_cast<uint64_t>(indices[i]) | (last - static_cast<uint64_t>(indices[i]));
        return sign >> 63 == 0;
    }

    void gather_checked(const Piece& piece, int64_t count) {
        for (int64_t i = 0; i < count; ++i) {
            const int64_t index = piece.indices[i * job_.indices.stride[row_]];
            const bool inside = index >= 0 && index < job_.plane_size;
            const Bits* source = piece.plane + i * job_.plane.stride[row_];
            piece.out[i * job_.out.stride[row_]] = inside ? source[plane_offset(index)] : Bits{};
            const int64_t at = piece.linear + i * job_.logical_stride[row_];
            if (!inside && (first_bad_.linear < 0 || at < first_bad_.linear)) first_bad_ = {at, index};
        }
    }

    int64_t plane_offset(int64_t index) const {
        if (job_.element_stride != 0) return index * job_.element_stride;
        const int64_t column = index % job_.plane_width, row = index / job_.plane_width % job_.plane_height;
        const int64_t depth = index / job_.plane_width / job_.plane_height;
        return depth * job_.plane_stride[0] + row * job_.plane_stride[1] + column * job_.plane_stride[2];
    }

    const MaxUnpoolJob& job_;
    const int row_ = job_.loop.rank - 1;
    FirstBad first_bad_{-1, 0};
};

}  // namespace

FirstBad max_unpool(const MaxUnpoolJob& job, int64_t begin, int64_t end) {
    switch (job.element_size) {
        case 1: return Gather<uint8_t>(job).run(begin, end);
        case 2: return Gather<uint16_t>(job).run(begin, end);
        case 4: return Gather<uint32_t>(job).run(begin, end);
        default: return Gather<uint64_t>(job).run(begin, end);
    }
}

}  // namespace torch_aclnn::kernels::KERNEL_ISA
