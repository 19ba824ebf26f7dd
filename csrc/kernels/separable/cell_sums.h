// Which cells are added up for the cells of a plane.
#pragma once

#include "kernels/separable/jobs.h"
#include "kernels/separable/whole_planes.h"

namespace torch_aclnn::kernels {

// Sums along one axis after the other. What is equal to a cell that is there already, such as a copy, or the same sum of a neighbour, takes
// no cell of its own.
class CellSumsPlan {
   public:
    // Takes an axis for each dimension of a plane, at least two, whose cells have `inner` adjacent numbers. A place is a cell's index times
    // `lanes`.
    CellSumsPlan(const AxisTable* axes, int count, int64_t inner, int64_t lanes);

    // The sums point into the plan.
    std::vector<CellSums> sums() const;
    // Returns the cell of each number of a plane of the result, and of as many more as a tile has.
    const std::vector<int32_t>& result() const { return cells_; }
    int64_t cell_count() const { return cell_count_; }

   private:
    static constexpr int64_t kMaxTile = 8;
    struct Group {
        int64_t terms;
        std::vector<int32_t> cells;
        std::vector<float> scale;
    };

    void scale_terms(const AxisTable& axis, int64_t outer, int64_t inner);
    // `scale` is that of each number of a row of `inner`; null means ones.
    void sum(const AxisTable& axis, int64_t outer, int64_t inner, const float* scale);
    // Adds `inner` sums; those of a term begin at term(t).
    void add(int64_t terms, int64_t inner, const float* scale, const auto& term, int32_t* result);
    Group& group_of(int64_t terms);
    int32_t new_cell() { return static_cast<int32_t>(cell_count_++ * lanes_); }

    int64_t lanes_, cell_count_ = 0;
    int32_t zero_;
    std::vector<int32_t> cells_;  // the cell of each number that the stages so far leave
    std::vector<Group> groups_;
    size_t first_group_ = 0;  // the first group of the stage that is planned
};

}  // namespace torch_aclnn::kernels
