// The Python module torch_aclnn._C. Loading it registers the operators of torch.ops.torch_aclnn, each in its file in ops/.
#include <Python.h>

#include <stdexcept>

#include "contract/limits.h"
#include "extension/python/functions.h"
#include "kernels/separable/choose.h"
#include "kernels/simd/isa.h"

static PyObject* isa(PyObject*, PyObject*) {
    return PyUnicode_FromString(torch_aclnn::kernels::isa_name());
}

static PyObject* last_loop(PyObject*, PyObject*) {
    return PyUnicode_FromString(torch_aclnn::kernels::last_loop());
}

// A bad TORCH_ACLNN_ISA or TORCH_ACLNN_LOOP is reported here.
PyMODINIT_FUNC PyInit__C() {
    static PyMethodDef of_kernels[] = {
        {"isa", isa, METH_NOARGS, "Name the instruction set of the kernels."},
        {"last_loop", last_loop, METH_NOARGS, "Name the loop of this thread's last call of a kernel of pooling or padding."},
        {}};
    static PyModuleDef module{
        PyModuleDef_HEAD_INIT, "_C", "Kernels of torch.ops.torch_aclnn.", -1, of_kernels, nullptr, nullptr, nullptr, nullptr};
    try {
        torch_aclnn::kernels::isa();
        torch_aclnn::kernels::check_named_loop();
    } catch (const std::invalid_argument& error) {
        PyErr_SetString(PyExc_ValueError, error.what());
        return nullptr;
    }
    PyObject* created = PyModule_Create(&module);
    PyObject* const node = torch_aclnn::node_type();
    const bool is_complete = created != nullptr && PyModule_AddFunctions(created, torch_aclnn::functions()) == 0 && node != nullptr &&
                             PyModule_AddObjectRef(created, "Node", node) == 0 &&
                             PyModule_AddIntConstant(created, "MAX_DIVISOR_OF_AVG_POOL2D", torch_aclnn::kMaxDivisorOfAvgPool2d) == 0 &&
                             PyModule_AddIntConstant(created, "MAX_CHANNELS_OF_AVG_POOL2D", torch_aclnn::kMaxChannelsOfAvgPool2d) == 0;
    Py_XDECREF(node);
    if (!is_complete) Py_CLEAR(created);
    return created;
}
