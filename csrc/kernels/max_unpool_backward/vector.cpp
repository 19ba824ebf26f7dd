// Max unpooling backward: a gather within each plane. A branch that is never taken checks each index as it is used. Checking many indices
// at once would separate loads from memory that otherwise overlap.
#include "kernels/max_unpool_backward/job.h"
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
    static constexpr int64_t kBlock = MaxUnpoolJob::kBlock, kAhead = MaxUnpoolJob::kAhead;
    static constexpr int64_t kBytesPerElement = 128;  // two lines of a plane
    static constexpr int64_t kShortPlane = 256;       // in planes with more elements a prefetch pays
    template <int64_t kValue>
    using Known = std::integral_constant<int64_t, kValue>;

    struct Piece {
        const int64_t* indices;
        Bits* out;
        const Bits* plane;
        int64_t linear;
    };

    void move(Piece& piece, int d, int64_t steps) const {
        piece.indices += steps * job_.indices.stride[d];
        piece.out += steps * job_.out.stride[d];
        piece.plane += steps * job_.plane.stride[d];
        piece.linear += steps * job_.logical_stride[d];
    }

    // Returns the row without its first elements.
    Piece moved(Piece row, int64_t elements) const {
        if (row_ > 0) move(row, row_ - 1, elements / job_.loop.size[row_]);
        move(row, row_, row_ > 0 ? elements % job_.loop.size[row_] : elements);
        return row;
    }

    void run_rows(int64_t begin, int64_t end) {
        const int64_t* const strides[] = {job_.indices.stride, job_.out.stride, job_.plane.stride, job_.logical_stride};
        const int64_t row_size = job_.loop.size[row_];
        Offsets offsets;
        if (job_.joins_rows) fill(offsets);
        int64_t left = end - begin;  // the elements of the block and those behind it
        for_row_blocks(job_.loop, strides, begin, end, [&](const int64_t* at, int64_t rows, int64_t count) {
            const Piece first{static_cast<const int64_t*>(job_.indices.data) + at[0], static_cast<Bits*>(job_.out.data) + at[1],
                              static_cast<const Bits*>(job_.plane.data) + at[2], at[3]};
            job_.joins_rows&& count == row_size ? gather_joined_rows(first, offsets, rows, left) : gather_rows(first, rows, count, left);
            left -= rows * count;
        });
    }

    __attribute__((noinline)) void gather_rows(Piece row, int64_t rows, int64_t count, int64_t left) {
        for (; rows > 0; --rows) {
            left -= count;
            const bool fetches_later_row = job_.rows_ahead > 0 && left >= job_.rows_ahead * job_.loop.size[row_];
            Piece piece = row;
            for (int64_t i = 0; i < count; i += kBlock, move(piece, row_, kBlock)) {
                const int64_t block = smaller(kBlock, count - i);
                if (fetches_later_row)
                    prefetch(piece.plane, piece.indices + job_.rows_ahead * job_.indices.stride[row_ - 1], block);
                else if (job_.prefetch_elements && count - i >= kAhead + kBlock)
                    prefetch(piece.plane + kAhead * job_.plane.stride[row_], piece.indices + kAhead * job_.indices.stride[row_], kBlock);
                gather_block(piece, block);
            }
            if (row_ > 0) move(row, row_ - 1, 1);
        }
    }

    // The offsets of elements from the beginning of a row of channels, for as many rows as a block that begins in the first one needs.
    struct Offsets {
        static constexpr int64_t kSize = kBlock + 2 * MaxUnpoolJob::kMaxJoined;
        int64_t plane[kSize], out[kSize];
    };

    void fill(Offsets& offsets) const {
        const int64_t channels = job_.loop.size[row_];
        for (int64_t i = 0, row = 0; i < kBlock + channels; ++row)
            for (int64_t c = 0; c < channels; ++c, ++i) {
                offsets.plane[i] = row * job_.plane.stride[row_ - 1] + c * job_.plane.stride[row_];
                offsets.out[i] = row * job_.out.stride[row_ - 1] + c * job_.out.stride[row_];
            }
    }

    // Gathers in blocks of one length, whatever the number of channels.
    __attribute__((noinline)) void gather_joined_rows(Piece row, const Offsets& offsets, int64_t rows, int64_t left) {
        const int64_t channels = job_.loop.size[row_], ahead = job_.rows_ahead * channels, distance = job_.element_stride;
        const auto size = static_cast<uint64_t>(job_.plane_size);
        int64_t channel = 0;  // the channel of a block's first element
        for (int64_t count = rows * channels; count > 0; count -= kBlock, left -= kBlock) {
            const int64_t block = smaller(kBlock, count), *const indices = row.indices + channel;
            const int64_t *const plane_offsets = offsets.plane + channel, *const out_offsets = offsets.out + channel;
            for (int64_t i = 0; ahead > 0 && left >= ahead + block && i < block; ++i)
                prefetch_element(row.plane, indices[ahead + i], plane_offsets[i]);
            for (int64_t i = 0; i < block; ++i) {
                if (static_cast<uint64_t>(indices[i]) < size)
                    row.out[out_offsets[i]] = row.plane[indices[i] * distance + plane_offsets[i]];
                else
                    gather_checked(moved(row, channel + i), 1);
            }
            row = moved(row, (channel + block) / channels * channels);
            channel = (channel + block) % channels;
        }
    }

    // Planes of few elements, all of them adjacent, and the planes of indices follow each other.
    bool has_short_planes() const {
        if (job_.loop.rank != 2 || job_.loop.size[1] > kShortPlane || job_.element_stride != 1 || job_.plane.stride[1] != 0) return false;
        const int64_t size = job_.loop.size[1];
        return job_.indices.stride[1] == 1 && job_.out.stride[1] == 1 && job_.indices.stride[0] == size;
    }

    // Gathers whole planes from plane `begin` on, up to the first with an index outside. Returns how far it came. If most lines of a plane
    // are touched, it is read as a whole, in the order of memory: a part of a later one is fetched before a part of this one is made,
    // because more at once would wait for each other.
    int64_t run_short_planes(int64_t begin, int64_t end) const {
        const int64_t size = job_.loop.size[1], last = end / size, plane_bytes = job_.plane_size * static_cast<int64_t>(sizeof(Bits));
        const bool fetches = job_.prefetch_planes && plane_bytes <= kBytesPerElement * size;
        const int64_t part = fetches ? kBlock : size, planes_ahead = size < kBlock ? kBlock / size : 1;
        const int64_t bytes_of_part = smaller((plane_bytes * kBlock + size - 1) / size, plane_bytes);
        const auto* source = static_cast<const Bits*>(job_.plane.data) + begin / size * job_.plane.stride[0];
        const auto* indices = static_cast<const int64_t*>(job_.indices.data) + begin;
        Bits* out = static_cast<Bits*>(job_.out.data) + begin / size * job_.out.stride[0];
        for (int64_t plane = begin / size; plane < last;
             ++plane, source += job_.plane.stride[0], indices += size, out += job_.out.stride[0]) {
            const auto* ahead = reinterpret_cast<const char*>(source + planes_ahead * job_.plane.stride[0]);
            for (int64_t i = 0; i < size; i += part, ahead += bytes_of_part) {
                const int64_t count = smaller(part, size - i);
                if (fetches && plane + planes_ahead < last) prefetch_bytes(ahead, bytes_of_part);
                if (gather_adjacent(source, indices + i, out + i, count) < count) return plane * size;
            }
        }
        return last * size;
    }

    void gather_block(const Piece& piece, int64_t count) {
        const int64_t step = job_.indices.stride[row_], out_step = job_.out.stride[row_], plane_step = job_.plane.stride[row_];
        int64_t done = 0;
        if (step == 1 && out_step == 1 && plane_step == 0 && job_.element_stride == 1)
            done = gather_adjacent(piece.plane, piece.indices, piece.out, count);
        else if (job_.element_stride != 0 && step == 1)
            done = gather(piece.plane, piece.indices, piece.out, count, Known<1>{}, out_step, plane_step, job_.element_stride);
        else if (job_.element_stride != 0)
            done = gather(piece.plane, piece.indices, piece.out, count, step, out_step, plane_step, job_.element_stride);
        if (done == count) return;
        Piece rest = piece;
        move(rest, row_, done);
        gather_checked(rest, count - done);
    }

    int64_t gather_adjacent(const Bits* plane, const int64_t* indices, Bits* out, int64_t count) const {
        return gather(plane, indices, out, count, Known<1>{}, Known<1>{}, Known<0>{}, Known<1>{});
    }

    // Gathers from a plane, or from one for each element, whose elements lie `distance` apart. Returns how many elements were gathered
    // before an index outside.
    template <class Step, class OutStep, class PlaneStep, class Distance>
    int64_t gather(const Bits* plane, const int64_t* indices, Bits* out, int64_t count, Step step, OutStep out_step, PlaneStep plane_step,
                   Distance distance) const {
        const auto size = static_cast<uint64_t>(job_.plane_size);
#pragma GCC unroll 4
        for (int64_t i = 0; i < count; ++i) {
            const int64_t index = indices[i * step];
            if (static_cast<uint64_t>(index) >= size) return i;
            out[i * out_step] = plane[i * plane_step + index * distance];
        }
        return count;
    }

    // Prefetches the elements of a later block, which are scattered over the plane. A prefetch does not fault, so its indices need no
    // check.
    void prefetch(const Bits* plane, const int64_t* indices, int64_t count) const {
        const int64_t step = job_.indices.stride[row_], plane_step = job_.plane.stride[row_];
        for (int64_t i = 0; i < count; ++i) prefetch_element(plane, indices[i * step], i * plane_step);
    }

    void prefetch_element(const Bits* plane, int64_t index, int64_t offset) const {
        const uint64_t element = static_cast<uint64_t>(index) * job_.element_stride + offset;
        __builtin_prefetch(reinterpret_cast<const void*>(reinterpret_cast<uintptr_t>(plane) + element * sizeof(Bits)));
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
