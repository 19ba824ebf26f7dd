// The tables of sums within planes, along one axis after the other.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "kernels/flat_planes/job.h"
#include "kernels/support/windows.h"

namespace torch_aclnn::kernels {

// Index i of the result is the sum over the terms [first[i], last[i]) of the source's index source[term], or `term` itself where `source`
// is null, times scale[index], or 1 where `scale` is null.
struct FlatAxis {
    int64_t result, source_size;
    const int64_t* first;
    const int64_t* last;
    const int64_t* source;
    const float* scale;

    int64_t index(int64_t term) const { return source == nullptr ? term : source[term]; }
    bool has_one_term_at_most() const {
        return std::equal(first, first + result, last, [](int64_t begin, int64_t end) { return end - begin <= 1; });
    }
};

// Of windows, whose scales are left out where they are ones.
inline FlatAxis flat_axis(const WindowAxis& axis, int64_t windows, const std::vector<float>& scale) {
    return {axis.in(), windows, axis.first(), axis.last(), nullptr, scale.empty() ? nullptr : scale.data()};
}

// Of a size of some axes.
int64_t product(const FlatAxis* begin, const FlatAxis* end, int64_t FlatAxis::* size);

// The lanes of this machine's gather_sum(); 0 where shuffles by a table are no single instruction.
int64_t gather_lanes();

// Whether one shuffle takes any elements of two vectors: then tables take less time than other loops more often.
inline bool has_wide_gather() {
    constexpr int64_t kLanesOfAvx512 = 16;
    return gather_lanes() == kLanesOfAvx512;
}

// Several axes as one, where results have one term at most and only the last axis has a scale: no sums are needed.
class CombinedAxes {
   public:
    CombinedAxes(const FlatAxis* axes, int count);
    static bool suits(const FlatAxis* axes, int count);
    FlatAxis axis() const;

   private:
    int64_t source_size_;
    std::vector<int64_t> first_, last_;
    std::vector<float> scale_;
};

// For `joined` planes that follow each other, with the axes from the first to the last, of cells of `inner` adjacent numbers. What a stage
// leaves has the sizes of the result in the axes that are done, and of the source in the others. The last axis has its scale applied to the
// sums along the one before; a single axis, whose results have one term at most, to these.
class FlatStages {
   public:
    FlatStages() = default;
    FlatStages(const FlatAxis* axes, int count, int64_t joined, int64_t inner = 1);

    int count() const { return count_; }
    // Points into the tables.
    FlatStage stage(int index) const;
    // Whether the first stage has elements that are gathered one by one.
    bool gathers_far() const { return tables_[0].has_far_terms(); }
    // The floats that hold what any stage leaves but the last, with a vector behind it.
    int64_t line_size() const;
    // How many vectors of terms all stages add up.
    int64_t step_count() const;
    // The elements that the last stage writes: whole vectors.
    int64_t padded_result_size() const { return tables_[count_ - 1].padded_count(); }

   private:
    void plan(int stage, const FlatAxis* axes, int64_t joined, int64_t inner);
    void plan_scale(const FlatAxis* axes, int64_t joined, int64_t inner);
    // Which stage has the scale of the last axis.
    int scaled_stage() const { return std::max(count_ - 2, 0); }

    int count_ = 0;
    GatherPlan tables_[FlatPlanesJob::kMaxStages];
    std::vector<float> scale_;
};

}  // namespace torch_aclnn::kernels
