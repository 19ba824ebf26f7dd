// Implementations of operators that are called by name.
#pragma once

#include "engine/aten/implement/function.h"
#include "engine/runtime/operator_by_name/operator_call.h"

namespace torch_aclnn::host::aten {

// Inputs are the tensors of the signature that are read, outputs those that are written, each in their order; the rest are attributes, by
// their names.
void run_implemented(const ImplementedFunction& function, OperatorCall& call);

}  // namespace torch_aclnn::host::aten
