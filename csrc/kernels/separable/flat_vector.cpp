// Sums within small planes in lanes: a plane is one row of cells, so that short rows fill vectors too.
#include "kernels/separable/flat_job.h"
#include "kernels/separable/gather_sum.h"
#include "kernels/simd/sink.h"

namespace torch_aclnn::kernels::KERNEL_ISA {

#if KERNEL_VECTOR_BYTES > 16  // shuffles by a table need AVX2
namespace {

template <class T>
class FlatPlanes {
   public:
    FlatPlanes(const FlatPlanesJob& job, void* scratch)
        : job_(job),
          sums_(static_cast<float*>(scratch)),
          source_copy_(static_cast<char*>(scratch) + 2 * job.sum_bytes),
          source_end_(static_cast<const T*>(job.source) + job.source_end),
          sink_(static_cast<char*>(scratch) + 2 * job.sum_bytes + job.source_bytes, job.sink_bytes, job.stream) {}

    // Stage by stage for a group of planes: a load has to wait for a store that it overlaps.
    void run(int64_t begin, int64_t end) {
        for (int64_t plane = begin; plane < end;) {
            const int64_t n = plane / job_.channels, c = plane % job_.channels;
            const int64_t count = smaller(job_.planes_per_group, smaller(end - plane, job_.channels - c));
            const T* source = static_cast<const T*>(job_.source) + n * job_.source_stride[0] + c * job_.source_stride[1];
            T* target = static_cast<T*>(job_.target) + n * job_.target_stride[0] + c * job_.target_stride[1];
            if (job_.stage_count > 1)
                make_planes(source, target, count);
            else
                for (int64_t i = 0; i < count; ++i) first_stage(source + i * job_.source_stride[1], room(target, i));
            plane += count;
        }
    }

   private:
    static constexpr int N = kGatherLanes;

    void make_planes(const T* source, T* target, int64_t count) {
        for (int64_t i = 0; i < count; ++i) first_stage(source + i * job_.source_stride[1], line(0, i));
        for (int stage = 1; stage + 1 < job_.stage_count; ++stage)
            for (int64_t i = 0; i < count; ++i) stage_sums(job_.stages[stage], line(stage - 1, i), line(stage, i));
        const int last = job_.stage_count - 1;
        for (int64_t i = 0; i < count; ++i) stage_sums(job_.stages[last], line(last - 1, i), room(target, i));
    }

    T* room(T* target, int64_t i) { return sink_.room(target + i * job_.target_stride[1], job_.plane_size); }

    float* line(int stage, int64_t plane) { return sums_ + stage % 2 * (job_.sum_bytes / sizeof(float)) + plane * job_.line_size; }

    template <class Target>
    void first_stage(const T* plane, Target* target) const {
        if (job_.widens) return stage_sums(job_.stages[0], widened(plane), target);
        stage_sums(job_.stages[0], readable(plane), target);
    }

    const float* widened(const T* plane) const {
        auto* const copy = reinterpret_cast<float*>(source_copy_);
        for_lanes<float>(job_.source_size, [=](auto width, int64_t i) {
            constexpr int kWidth = decltype(width)::value;
            store<kWidth>(copy + i, load<kWidth>(plane + i));
        });
        return copy;
    }

    // The plane, behind which a vector can be read: elsewhere of the source, or in a copy of a plane at its end.
    const T* readable(const T* plane) const {
        if (source_end_ - plane >= job_.source_size + N) return plane;
        auto* const copy = reinterpret_cast<T*>(source_copy_);
        for (int64_t i = 0; i < job_.source_size + N; ++i) copy[i] = i < job_.source_size ? plane[i] : T{};
        return copy;
    }

    const FlatPlanesJob& job_;
    float* sums_;
    char* source_copy_;
    const T* source_end_;
    Sink sink_;
};

}  // namespace

void flat_planes(const FlatPlanesJob& job, int64_t begin, int64_t end, void* scratch) {
    visit_sums(job.dtype, [&](auto element) {
        if constexpr (std::is_same_v<Sum<decltype(element)>, float>) FlatPlanes<decltype(element)>(job, scratch).run(begin, end);
    });
}
#endif

}  // namespace torch_aclnn::kernels::KERNEL_ISA
