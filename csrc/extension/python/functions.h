// The functions of _C: those of torch_aclnn.functional for the usual arguments in eager code, which run torch's forward and record a node
// of autograd in C++, and the type that those nodes have in Python.
#pragma once

#include <Python.h>

namespace torch_aclnn {

// A row for each function, and the end. Each takes its arguments by position and returns NotImplemented where the function in Python has to
// decide: for unusual arguments, and for whatever torch refuses.
PyMethodDef* functions();

// Returns a new reference to the Python type of this package's nodes, `type(tensor.grad_fn)`.
PyObject* node_type();

}  // namespace torch_aclnn
