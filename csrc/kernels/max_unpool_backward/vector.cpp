// Max unpooling backward: a gather within each plane. A few indices are checked at once and then gathered without branches; of more the
// checks would keep elements that are still on their way from memory apart.
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
    static constexpr int64_t kBlock = MaxUnpoolJob::kBlock, kGroup = 8;
    static constexpr int64_t kAhead = MaxUnpoolJob::kAhead;
    static constexpr int64_t kBytesPerElement = 128;  // two lines of a plane
    static constexpr int64_t kShortPlane = 256;       // more elements are worth a prefetch

    struct Piece {
        const int64_t* indices;
        Bits* out;
        const Bits* plane;
        int64_t linear;
    };

    // Calls body(piece, rows, count, left) for parts of rows, so many neighbours of one length; `left` counts their elements and those
    // behind.
    template <class Body>
    void for_pieces(int64_t begin, int64_t end, const Body& body) const {
        const int64_t* const strides[] = {job_.indices.stride, job_.out.stride, job_.plane.stride, job_.logical_stride};
        int64_t left = end - begin;
        for_row_blocks(job_.loop, strides, begin, end, [&](const int64_t* offsets, int64_t rows, int64_t count) {
            const Piece first{static_cast<const int64_t*>(job_.indices.data) + offsets[0], static_cast<Bits*>(job_.out.data) + offsets[1],
                              static_cast<const Bits*>(job_.plane.data) + offsets[2], offsets[3]};
            body(first, rows, count, left);
            left -= rows * count;
        });
    }

    void move(Piece& piece, int d, int64_t steps) const {
        piece.indices += steps * job_.indices.stride[d];
        piece.out += steps * job_.out.stride[d];
        piece.plane += steps * job_.plane.stride[d];
        piece.linear += steps * job_.logical_stride[d];
    }

    void run_rows(int64_t begin, int64_t end) {
        if (job_.joins_rows) return run_joined_rows(begin, end);
        const bool has_channels = has_rows_of_channels();
        for_pieces(begin, end, [&](const Piece& first, int64_t rows, int64_t count, int64_t left) {
            has_channels ? gather_rows_of_channels(first, rows, count, left) : gather_rows(first, rows, count);
        });
    }

    __attribute__((noinline)) void gather_rows(Piece row, int64_t rows, int64_t count) {
        for (int64_t i = 0; i < rows; ++i) {
            Piece piece = row;
            for (int64_t left = count; left > 0; left -= kBlock, move(piece, row_, kBlock)) {
                if (job_.prefetch_elements && left >= kAhead + kBlock)
                    prefetch(piece.plane + kAhead * job_.plane.stride[row_], piece.indices + kAhead * job_.indices.stride[row_], kBlock);
                gather_block(piece, smaller(kBlock, left));
            }
            if (row_ > 0) move(row, row_ - 1, 1);
        }
    }

    // Adjacent indices, each of a plane of its own.
    bool has_rows_of_channels() const {
        return job_.loop.rank > 1 && job_.indices.stride[row_] == 1 && job_.plane.stride[row_] != 0 && job_.element_stride != 0;
    }

    __attribute__((noinline)) void gather_rows_of_channels(Piece row, int64_t rows, int64_t count, int64_t left) {
        const int64_t ahead = job_.rows_ahead * job_.indices.stride[row_ - 1];
        for (; rows > 0; --rows, move(row, row_ - 1, 1)) {
            left -= count;
            const bool prefetches = ahead > 0 && left >= job_.rows_ahead * job_.loop.size[row_];
            Piece piece = row;
            for (int64_t c = 0; c < count; c += kBlock, move(piece, row_, kBlock)) {
                const int64_t block = smaller(kBlock, count - c);
                if (prefetches) prefetch(piece.plane, piece.indices + ahead, block);
                gather_channels(piece, block);
            }
        }
    }

    // Where elements lie from the beginning of a row of channels on, over as many rows as a block that begins in the first one needs.
    struct Offsets {
        static constexpr int64_t kSize = kBlock + 2 * MaxUnpoolJob::kMaxJoined;
        int64_t plane[kSize], out[kSize];
    };

    // In blocks of one length, whatever the number of channels.
    void run_joined_rows(int64_t begin, int64_t end) {
        const int64_t channels = job_.loop.size[row_];
        Offsets offsets;
        for (int64_t i = 0, row = 0; i < kBlock + channels; ++row)
            for (int64_t c = 0; c < channels; ++c, ++i) {
                offsets.plane[i] = row * job_.plane.stride[row_ - 1] + c * job_.plane.stride[row_];
                offsets.out[i] = row * job_.out.stride[row_ - 1] + c * job_.out.stride[row_];
            }
        for_pieces(begin, end, [&](const Piece& first, int64_t rows, int64_t count, int64_t left) {
            count < channels ? gather_channels(first, count) : gather_joined_rows(first, offsets, rows, left);
        });
    }

    __attribute__((noinline)) void gather_joined_rows(Piece row, const Offsets& offsets, int64_t rows, int64_t left) {
        const int64_t channels = job_.loop.size[row_], ahead = job_.rows_ahead * channels, distance = job_.element_stride;
        int64_t channel = 0;  // of the first element of a block
        for (int64_t count = rows * channels; count > 0; count -= kBlock, left -= kBlock) {
            const int64_t block = smaller(kBlock, count), *const indices = row.indices + channel;
            const int64_t *const plane_offsets = offsets.plane + channel, *const out_offsets = offsets.out + channel;
            for (int64_t i = 0; ahead > 0 && left >= ahead + block && i < block; ++i)
                prefetch_element(row.plane, indices[ahead + i], plane_offsets[i]);
            if (all_inside(indices, block))
                for (int64_t i = 0; i < block; ++i) row.out[out_offsets[i]] = row.plane[indices[i] * distance + plane_offsets[i]];
            else
                for (int64_t i = 0; i < block; ++i) gather_checked(element_of(row, channel + i), 1);
            move(row, row_ - 1, (channel + block) / channels);
            channel = (channel + block) % channels;
        }
    }

    // So many elements from the beginning of a row on.
    Piece element_of(Piece row, int64_t elements) const {
        move(row, row_ - 1, elements / job_.loop.size[row_]);
        move(row, row_, elements % job_.loop.size[row_]);
        return row;
    }

    // Planes of few elements, all of them adjacent, and the planes of indices follow each other.
    bool has_short_planes() const {
        if (job_.loop.rank != 2 || job_.loop.size[1] > kShortPlane || job_.element_stride != 1 || job_.plane.stride[1] != 0) return false;
        const int64_t size = job_.loop.size[1];
        return job_.indices.stride[1] == 1 && job_.out.stride[1] == 1 && job_.indices.stride[0] == size;
    }

    // Does whole planes from the beginning of one on, up to the first with an index outside. Returns how far it came.
    int64_t run_short_planes(int64_t begin, int64_t end) const {
        if (job_.prefetch_planes && touches_most_lines()) return run_short_planes_ahead(begin, end);
        const int64_t size = job_.loop.size[1];
        for (int64_t i = begin / size; i < end / size; ++i)
            if (gather_adjacent(source_of(i), indices_of(i), out_of(i), size) < size) return i * size;
        return end / size * size;
    }

    // A part of a later plane is fetched before a part of this one is made: more at once would wait for each other.
    __attribute__((noinline)) int64_t run_short_planes_ahead(int64_t begin, int64_t end) const {
        const int64_t size = job_.loop.size[1], planes_ahead = size < kBlock ? kBlock / size : 1, last = end / size;
        const int64_t bytes_of_part = (plane_bytes() * kBlock + size - 1) / size;
        for (int64_t i = begin / size; i < last; ++i) {
            const auto* ahead = reinterpret_cast<const char*>(source_of(i + planes_ahead));
            for (int64_t k = 0; k < size; k += kBlock, ahead += bytes_of_part) {
                const int64_t count = smaller(kBlock, size - k);
                if (i + planes_ahead < last) prefetch_bytes(ahead, smaller(bytes_of_part, plane_bytes()));
                if (gather_adjacent(source_of(i), indices_of(i) + k, out_of(i) + k, count) < count) return i * size;
            }
        }
        return last * size;
    }

    const Bits* source_of(int64_t plane) const { return static_cast<const Bits*>(job_.plane.data) + plane * job_.plane.stride[0]; }
    const int64_t* indices_of(int64_t plane) const { return static_cast<const int64_t*>(job_.indices.data) + plane * job_.loop.size[1]; }
    Bits* out_of(int64_t plane) const { return static_cast<Bits*>(job_.out.data) + plane * job_.out.stride[0]; }

    // If so, a plane is read as a whole, in the order of memory, sooner than in the order of the indices.
    bool touches_most_lines() const { return plane_bytes() <= kBytesPerElement * job_.loop.size[1]; }

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

    void gather_channels(const Piece& piece, int64_t count) {
        if (!all_inside(piece.indices, count)) return gather_checked(piece, count);
        const int64_t out_step = job_.out.stride[row_], plane_step = job_.plane.stride[row_], distance = job_.element_stride;
        for (int64_t i = 0; i < count; ++i) piece.out[i * out_step] = piece.plane[i * plane_step + piece.indices[i] * distance];
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
        for (int64_t i = 0; i < count; ++i) prefetch_element(plane, indices[i * step], i * plane_step);
    }

    void prefetch_element(const Bits* plane, int64_t index, int64_t offset) const {
        const uint64_t element = static_cast<uint64_t>(index) * job_.element_stride + offset;
        __builtin_prefetch(reinterpret_cast<const void*>(reinterpret_cast<uintptr_t>(plane) + element * sizeof(Bits)));
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
