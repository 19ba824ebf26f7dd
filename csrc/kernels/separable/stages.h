// The tables of sums within planes, along one axis after the other.
#pragma once

#include "kernels/separable/flat_job.h"
#include "kernels/separable/whole_planes.h"

namespace torch_aclnn::kernels {

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
    CombinedAxes(const AxisTable* axes, int count);
    static bool suits(const AxisTable* axes, int count);
    AxisTable axis() const;

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
    FlatStages(const AxisTable* axes, int count, int64_t joined, int64_t inner = 1);

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
    void plan(int stage, const AxisTable* axes, int64_t joined, int64_t inner);
    void plan_scale(const AxisTable* axes, int64_t joined, int64_t inner);
    // Which stage has the scale of the last axis.
    int scaled_stage() const { return std::max(count_ - 2, 0); }

    int count_ = 0;
    GatherPlan tables_[FlatPlanesJob::kMaxStages];
    std::vector<float> scale_;
};

}  // namespace torch_aclnn::kernels
