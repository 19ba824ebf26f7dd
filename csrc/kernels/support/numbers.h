// Lists of a call.
#pragma once

#include <cstdint>
#include <memory>

namespace torch_aclnn::kernels {

// So many numbers, not initialised. Few of them need no allocation, which takes as long as some rows of a small tensor.
class Numbers {
   public:
    explicit Numbers(int64_t count) : allocated_(count > kFew ? new int64_t[count] : nullptr) {}
    int64_t* data() { return allocated_ ? allocated_.get() : few_; }
    const int64_t* data() const { return allocated_ ? allocated_.get() : few_; }

   private:
    static constexpr int64_t kFew = 256;
    std::unique_ptr<int64_t[]> allocated_;
    int64_t few_[kFew];
};

}  // namespace torch_aclnn::kernels
