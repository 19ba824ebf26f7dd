// The tables of sums within planes: along rows, then along columns.
#pragma once

#include "kernels/separable/gather_table.h"
#include "kernels/separable/whole_planes.h"

namespace torch_aclnn::kernels {

// The lanes of this machine's gather_sum(); 0 where shuffles by a table are no single instruction.
int64_t gather_lanes();

// Whether one shuffle takes any elements of two vectors: then tables take less time than other loops more often.
inline bool has_wide_gather() {
    constexpr int64_t kLanesOfAvx512 = 16;
    return gather_lanes() == kLanesOfAvx512;
}

// The first stage leaves the rows of the result with the columns of the source. The scale of the columns is applied to that.
class PlaneStages {
   public:
    PlaneStages() = default;
    PlaneStages(const AxisTable& rows, const AxisTable& columns);

    // Points into the tables.
    GatherStage stage(int index) const { return {tables_[index].table(), index == 0 && !scale_.empty() ? scale_.data() : nullptr}; }
    // The floats that hold what the first stage leaves, with a vector behind it.
    int64_t line_size() const { return tables_[0].padded_count() + gather_lanes(); }
    // The elements that the last stage writes: whole vectors.
    int64_t padded_result_size() const { return tables_[1].padded_count(); }

   private:
    GatherPlan tables_[2];
    std::vector<float> scale_;
};

}  // namespace torch_aclnn::kernels
