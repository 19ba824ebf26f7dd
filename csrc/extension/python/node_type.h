// The type by which Python knows autograd's nodes that are written in C++.
#pragma once

#include <Python.h>

namespace torch_aclnn {

// A new reference to what `type(tensor.grad_fn)` is of this package's nodes.
PyObject* node_type();

}  // namespace torch_aclnn
