// Where an element of a loop lies.
#pragma once

#include "kernels/support/loop.h"

namespace torch_aclnn::kernels::scalar {

class Position {
   public:
    Position(const Loop& loop, int64_t element) : rank_(loop.rank) {
        for (int d = rank_ - 1; d >= 0; element /= loop.size[d--]) at_[d] = element % loop.size[d];
    }
    int64_t offset(const int64_t* stride) const {
        int64_t sum = 0;
        for (int d = 0; d < rank_; ++d) sum += at_[d] * stride[d];
        return sum;
    }

   private:
    int rank_;
    int64_t at_[Loop::kMaxRank];
};

}  // namespace torch_aclnn::kernels::scalar
