// The memory of tensors that an adapter makes on its way to a result, which the next step of a training loop makes again. malloc gives
// large ones back to the system, so each would begin with page faults.
#pragma once

#include <ATen/core/Tensor.h>

#include <tuple>

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

// What makes the same tensors each time: the adapter, the number of the output among its arguments, and the bytes of the inputs.
using Use = std::tuple<const void*, size_t, size_t>;

// While one lives, and until the first result is written, a large tensor that this thread makes with exactly the size of an output takes
// the output's memory, so that a result need not be copied into it: the first such tensor, or the one that became the result in the last
// such use. The outputs share no memory with what is read.
class ResultsTakeOutputs {
   public:
    ResultsTakeOutputs() = default;
    ~ResultsTakeOutputs();
    ResultsTakeOutputs(const ResultsTakeOutputs&) = delete;
    ResultsTakeOutputs& operator=(const ResultsTakeOutputs&) = delete;

    void add(const at::Tensor& output, const Use& use);
};

// Lets the tensor that became this result take the output's memory in the next use.
void prefer_output(const at::Tensor& out, const at::Tensor& result);
// Whether the tensor was made in the memory of an output.
bool is_in_output(const at::Tensor& tensor);
void stop_taking_outputs();

}  // namespace torch_aclnn::host::aten
