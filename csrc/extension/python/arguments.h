// Fast conversions of the usual kinds of arguments. Others are left to the functions in Python, which know all
// kinds and say what is wrong.
#pragma once

#include <Python.h>

#include <ATen/core/Tensor.h>
#include <c10/util/SmallVector.h>

#include <optional>

namespace torch_aclnn {

// Whether a call may go straight to torch: nothing records, traces or transforms it but autograd in reverse mode.
bool is_eager();

// Returns a tensor on npu or cpu of a dtype that the gradients take, whose elements are as they lie in memory; no subclass but Parameter.
const at::Tensor* plain_tensor(PyObject* object);

// Returns such a tensor of int64, or on npu of int32, which take no gradient.
const at::Tensor* plain_indices(PyObject* object);

// Returns `count` integers from a tuple or list of as many or of one, or from one integer for all; nullopt for other objects.
using Integers = c10::SmallVector<int64_t, 4>;
std::optional<Integers> integers(PyObject* object, Py_ssize_t count);

std::optional<bool> boolean(PyObject* object);

}  // namespace torch_aclnn
