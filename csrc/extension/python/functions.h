// The functions of torch_aclnn.functional for the usual arguments in eager code: torch's forward, with a node of autograd in C++.
#pragma once

#include <Python.h>

namespace torch_aclnn {

// A row for each function, and the end. Each takes its arguments by position and returns NotImplemented where the function in Python has to
// decide: for unusual arguments, and for whatever torch refuses.
PyMethodDef* functions();

}  // namespace torch_aclnn
