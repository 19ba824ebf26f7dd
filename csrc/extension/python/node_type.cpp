#include "extension/python/node_type.h"

#include <torch/csrc/autograd/python_cpp_function.h>

#include "torch_compatibility.h"

namespace torch_aclnn {
namespace {

// A node of which torch was not told. torch has one Python type for all such nodes, which it returns for an instance only.
struct UnknownNode final : torch::autograd::Node {
    torch::autograd::variable_list apply(torch::autograd::variable_list&&) override { return {}; }
};

}  // namespace

PyObject* node_type() {
    PyObject* const node = torch::autograd::functionToPyObject(make_node<UnknownNode>());
    if (node == nullptr) return nullptr;
    PyObject* const type = PyObject_Type(node);
    Py_DECREF(node);
    return type;
}

}  // namespace torch_aclnn
