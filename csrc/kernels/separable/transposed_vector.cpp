// Sums within small planes, a lane for each of several planes: what one of them needs, all do.
#include "kernels/separable/jobs.h"
#include "kernels/simd/sink.h"
#include "kernels/simd/terms.h"
#if KERNEL_VECTOR_BYTES == 32
#include "kernels/simd/tile.h"
#endif

namespace torch_aclnn::kernels::KERNEL_ISA {

#if KERNEL_VECTOR_BYTES == 32
namespace {

template <class T>
class TransposedPlanes {
   public:
    TransposedPlanes(const TransposedPlanesJob& job, void* scratch)
        : job_(job),
          cells_(static_cast<float*>(scratch)),
          copies_(reinterpret_cast<T*>(static_cast<char*>(scratch) + job.cell_bytes)),
          sink_(static_cast<char*>(scratch) + job.cell_bytes + job.plane_bytes, job.sink_bytes, job.stream) {
        __builtin_memset(scratch, 0, job.cell_bytes);
    }

    void run(int64_t begin, int64_t end) {
        for (int64_t group = begin; group < end; ++group) {
            const int64_t first = group * N, count = smaller(N, job_.planes - first);
            read(first, count);
            if (job_.prefetch && group + 1 < end) prefetch(first + N);
            for (int64_t i = 0; i < job_.sum_count; ++i) add(job_.sums[i]);
            write(first, count);
        }
    }

   private:
    static constexpr int N = kTilePlanes<T>, E = kTileElements<T>, kVectors = N / kLanes<float>;

    // Lanes without a plane get the last one's.
    void read(int64_t first, int64_t count) {
        const T* planes[N];
        for_each_plane(first, count, [&](int64_t i, int64_t n, int64_t c) {
            planes[i] = readable(static_cast<const T*>(job_.source) + n * job_.source_stride[0] + c * job_.source_stride[1], i);
        });
        for (int64_t i = count; i < N; ++i) planes[i] = planes[count - 1];
        for_tiles(job_.source_size, [&](int64_t e) { read_tile(planes, e, cells_ + e * N); });
    }

    // Prefetches the planes of the next group, which follow each other: the hardware does not read ahead in as many planes at once.
    void prefetch(int64_t first) const {
        const int64_t count = smaller(N, job_.planes - first), n = first / job_.channels, c = first % job_.channels;
        const auto* const planes = static_cast<const T*>(job_.source) + n * job_.source_stride[0] + c * job_.source_stride[1];
        prefetch_bytes(planes, count * job_.source_size * sizeof(T));
    }

    // Calls body(i, n, c) for each of them.
    void for_each_plane(int64_t first, int64_t count, const auto& body) const {
        int64_t n = first / job_.channels, c = first % job_.channels;
        for (int64_t i = 0; i < count; ++i) {
            body(i, n, c);
            if (++c == job_.channels) c = 0, ++n;
        }
    }

    // Returns a plane of which a whole tile can be read: a copy of a very small one at the end of the source.
    const T* readable(const T* plane, int64_t lane) {
        const T* const end = static_cast<const T*>(job_.source) + job_.source_end;
        if (job_.source_size >= E || end - plane >= E) return plane;
        T* const copy = copies_ + lane * E;
        for (int64_t i = 0; i < job_.source_size; ++i) copy[i] = plane[i];
        return copy;
    }

    // Calls body(e) for tiles of E elements that cover [0, size), the last of which may cover elements of the one before again. Of fewer
    // elements it is one tile, beyond their end.
    static void for_tiles(int64_t size, const auto& body) {
        int64_t e = 0;
        for (; e + E <= size; e += E) body(e);
        if (e < size) body(size > E ? size - E : 0);
    }

    void add(const CellSums& sums) const {
        visit_count(sums.terms, [&](auto count) { sums.scale == nullptr ? add_cells(sums, count) : add_scaled_cells(sums, count); });
    }

    void add_cells(const CellSums sums, auto terms) const {
        const int32_t* cells = sums.cells;
        for (int64_t i = 0; i < sums.count; ++i, cells += 1 + terms) {
            float* const place = cells_ + cells[0];
            const Cell sum = sum_of(cells + 1, terms);
            for (int v = 0; v < kVectors; ++v) store<kLanes<float>>(place + v * kLanes<float>, sum.vectors[v]);
        }
    }

    void add_scaled_cells(const CellSums sums, auto terms) const {
        const int32_t* cells = sums.cells;
        for (int64_t i = 0; i < sums.count; ++i, cells += 1 + terms) {
            float* const place = cells_ + cells[0];
            const float scale = sums.scale[i];
            const Cell sum = sum_of(cells + 1, terms);
            for (int v = 0; v < kVectors; ++v) store<kLanes<float>>(place + v * kLanes<float>, sum.vectors[v] * scale + 0.0f);
        }
    }

    struct Cell {
        Vector<float, kLanes<float>> vectors[kVectors];
    };

    Cell sum_of(const int32_t* cells, auto terms) const {
        Cell sum;
        for (int v = 0; v < kVectors; ++v) sum.vectors[v] = load<kLanes<float>>(cells_ + cells[0] + v * kLanes<float>);
        for (int64_t i = 1; i < terms; ++i) {
            const float* const term = cells_ + cells[i];
            for (int v = 0; v < kVectors; ++v) sum.vectors[v] += load<kLanes<float>>(term + v * kLanes<float>);
        }
        return sum;
    }

    void write(int64_t first, int64_t count) {
        T* planes[N];
        const int64_t size = job_.target_size;
        const bool adjacent = find_targets(first, count, planes);
        if (adjacent && job_.stream) {
            T* const room = sink_.room(planes[0], count * size);
            for (int64_t i = 0; i < count; ++i) planes[i] = room + i * size;
        }
        for_tiles(size, [&](int64_t e) { write_tile(cells_, job_.result + e, planes, e, count, smaller(E, size)); });
    }

    // Whether there is nothing between the target planes.
    bool find_targets(int64_t first, int64_t count, T** planes) const {
        bool adjacent = true;
        for_each_plane(first, count, [&](int64_t i, int64_t n, int64_t c) {
            planes[i] = static_cast<T*>(job_.target) + n * job_.target_stride[0] + c * job_.target_stride[1];
            adjacent = adjacent && planes[i] == planes[0] + i * job_.target_size;
        });
        return adjacent;
    }

    const TransposedPlanesJob& job_;
    float* cells_;
    T* copies_;
    Sink sink_;
};

}  // namespace

void transposed_planes(const TransposedPlanesJob& job, int64_t begin, int64_t end, void* scratch) {
    visit_sums(job.dtype, [&](auto element) {
        if constexpr (std::is_same_v<Sum<decltype(element)>, float>) TransposedPlanes<decltype(element)>(job, scratch).run(begin, end);
    });
}
#endif

}  // namespace torch_aclnn::kernels::KERNEL_ISA
