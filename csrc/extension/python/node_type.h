// The type by which Python knows autograd's nodes that are written in C++.
#pragma once

#include <Python.h>

namespace torch_aclnn {

// Returns a new reference to the Python type of this package's nodes, `type(tensor.grad_fn)`.
PyObject* node_type();

}  // namespace torch_aclnn
