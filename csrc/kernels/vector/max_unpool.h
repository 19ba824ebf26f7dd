// Max unpooling backward: a gather within each plane. A block of indices is checked at once and then gathered without branches.
#pragma once

#include "kernels/vector/loop.h"
#include "kernels/vector/sink.h"

namespace torch_aclnn::kernels::KERNEL_ISA {

template <class Bits>
class Gather {
   public:
    Gather(const MaxUnpoolJob& job, void* scratch) : job_(job), sink_(scratch, job.sink_bytes, job.stream) {}

    FirstBad run(int64_t begin, int64_t end) {
        for_row_pieces(job_.loop, begin, end, [&](int64_t* position, int64_t count) {
            int64_t& along_row = position[job_.loop.rank - 1];
            for (const int64_t stop = along_row + count; along_row < stop; along_row += kBlock)
                gather_block(position, smaller(kBlock, stop - along_row), stop - along_row);
        });
        return first_bad_;
    }

   private:
    static constexpr int64_t kBlock = 64;
    static constexpr int64_t kAhead = 128;

    // `left` counts the indices up to the end of the row.
    void gather_block(const int64_t* position, int64_t count, int64_t left) {
        const int row = job_.loop.rank - 1;
        const int64_t* indices = address<const int64_t>(job_.loop, job_.indices, position);
        const Bits* plane = address<const Bits>(job_.loop, job_.plane, position);
        Bits* out = address<Bits>(job_.loop, job_.out, position);
        const int64_t step = job_.indices.stride[row], out_step = job_.out.stride[row], plane_step = job_.plane.stride[row];

        prefetch(plane, plane_step, indices, step, left);
        int64_t adjacent[kBlock];
        if (step != 1) {
            for (int64_t i = 0; i < count; ++i) adjacent[i] = indices[i * step];
            indices = adjacent;
        }
        Bits gathered[kBlock];
        Bits* target = out_step == 1 ? sink_.room(out, count) : gathered;
        if (!all_inside(indices, count))
            gather_checked(target, plane, plane_step, indices, position, count);
        else if (job_.element_stride == 1 && plane_step == 0)
            for (int64_t i = 0; i < count; ++i) target[i] = plane[indices[i]];
        else
            for (int64_t i = 0; i < count; ++i) target[i] = plane[i * plane_step + plane_offset(indices[i])];
        if (out_step != 1)
            for (int64_t i = 0; i < count; ++i) out[i * out_step] = gathered[i];
    }

    // The elements of a later block, which are scattered over the plane. A prefetch does not fault, so its indices need no check.
    void prefetch(const Bits* plane, int64_t plane_step, const int64_t* indices, int64_t step, int64_t left) const {
        if (!job_.prefetch || left < kAhead + kBlock) return;
        const auto base = reinterpret_cast<uintptr_t>(plane);
        for (int64_t i = kAhead; i < kAhead + kBlock; ++i) {
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

    void gather_checked(Bits* target, const Bits* plane, int64_t plane_step, const int64_t* indices, const int64_t* position,
                        int64_t count) {
        const int64_t linear = offset(job_.loop, position, job_.logical_stride), step = job_.logical_stride[job_.loop.rank - 1];
        for (int64_t i = 0; i < count; ++i) {
            const bool inside = indices[i] >= 0 && indices[i] < job_.plane_size;
            target[i] = inside ? plane[i * plane_step + plane_offset(indices[i])] : Bits{};
            const int64_t at = linear + i * step;
            if (!inside && (first_bad_.linear < 0 || at < first_bad_.linear)) first_bad_ = {at, indices[i]};
        }
    }

    int64_t plane_offset(int64_t index) const {
        if (job_.element_stride != 0) return index * job_.element_stride;
        const int64_t column = index % job_.plane_width, row = index / job_.plane_width % job_.plane_height;
        const int64_t depth = index / job_.plane_width / job_.plane_height;
        return depth * job_.plane_stride[0] + row * job_.plane_stride[1] + column * job_.plane_stride[2];
    }

    const MaxUnpoolJob& job_;
    Sink sink_;
    FirstBad first_bad_{-1, 0};
};

inline FirstBad max_unpool(const MaxUnpoolJob& job, int64_t begin, int64_t end, void* scratch) {
    switch (job.element_size) {
        case 1: return Gather<uint8_t>(job, scratch).run(begin, end);
        case 2: return Gather<uint16_t>(job, scratch).run(begin, end);
        case 4: return Gather<uint32_t>(job, scratch).run(begin, end);
        default: return Gather<uint64_t>(job, scratch).run(begin, end);
    }
}

}  // namespace torch_aclnn::kernels::KERNEL_ISA
