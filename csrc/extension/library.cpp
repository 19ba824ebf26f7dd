// The schemas of torch.ops.torch_aclnn, in one place. Each operator's kernels are registered in ops/, under its own name.
// The out overloads return nothing, because torch.compile takes no operator outside ATen that returns one of its arguments.
#include <Python.h>
#include <torch/library.h>

#include <stdexcept>
#include <string>

#include "kernels/simd/isa.h"

namespace {

// One operator: the functional overload, the one that writes into `out`, and the functional one's meta kernel under a name of its own, from
// which torch_aclnn.autograd makes the fake kernel.
void define(torch::Library& m, const std::string& name, const std::string& parameters) {
    m.def((name + "(" + parameters + ") -> Tensor").c_str());
    m.def((name + ".out(" + parameters + ", *, Tensor(a!) out) -> ()").c_str());
    m.def(("_" + name + "_meta(" + parameters + ") -> Tensor").c_str());
}

}  // namespace

TORCH_LIBRARY(torch_aclnn, m) {
    define(m, "avg_pool2d_backward",
           "Tensor grad_output, SymInt[] input_size, int[2] kernel_size, int[2] stride=[], int[2] padding=0, bool ceil_mode=False, "
           "bool count_include_pad=True, int? divisor_override=None, int? cube_math_type=None");
    define(m, "adaptive_avg_pool2d_backward", "Tensor grad_output, SymInt[] input_size");
    define(m, "replication_pad2d_backward", "Tensor grad_output, SymInt[] input_size, SymInt[4] padding");
    define(m, "max_unpool3d_backward", "Tensor grad_output, Tensor indices, SymInt[3] output_size, int[3] stride, int[3] padding");
    define(m, "batch_norm_elemt_backward",
           "Tensor grad_out, Tensor input, Tensor mean, Tensor invstd, Tensor? weight, Tensor sum_dy, Tensor sum_dy_xmu, Tensor count");
}

static PyObject* isa(PyObject*, PyObject*) {
    return PyUnicode_FromString(torch_aclnn::kernels::isa_name());
}

// Importing torch_aclnn._C loads this library, which registers the operators above. A bad TORCH_ACLNN_ISA is reported here.
PyMODINIT_FUNC PyInit__C() {
    static PyMethodDef functions[] = {{"isa", isa, METH_NOARGS, "Name the instruction set of the kernels."}, {}};
    static PyModuleDef module{
        PyModuleDef_HEAD_INIT, "_C", "Kernels of torch.ops.torch_aclnn.", -1, functions, nullptr, nullptr, nullptr, nullptr};
    try {
        torch_aclnn::kernels::isa();
    } catch (const std::invalid_argument& error) {
        PyErr_SetString(PyExc_ValueError, error.what());
        return nullptr;
    }
    return PyModule_Create(&module);
}
