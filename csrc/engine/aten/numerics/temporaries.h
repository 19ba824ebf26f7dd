// The memory of tensors that an adapter makes on its way to a result, which the next step of a training loop makes again. malloc gives
// large ones back to the system, so each would begin with page faults.
#pragma once

namespace torch_aclnn::host::aten {

// While one lives, this thread's large CPU tensors take memory that earlier ones have left, if some fits. All others have torch's.
class TemporariesAreKept {
   public:
    TemporariesAreKept();
    ~TemporariesAreKept();
    TemporariesAreKept(const TemporariesAreKept&) = delete;
    TemporariesAreKept& operator=(const TemporariesAreKept&) = delete;

   private:
    bool before_;
};

}  // namespace torch_aclnn::host::aten
