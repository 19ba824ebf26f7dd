#include "extension/python/arguments.h"

#include <ATen/PythonTorchFunctionTLS.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/csrc/autograd/python_variable.h>
#include <torch/csrc/jit/frontend/tracer.h>

namespace torch_aclnn {

static std::optional<int64_t> integer(PyObject* object) {
    if (!PyLong_CheckExact(object)) return std::nullopt;
    int overflow = 0;
    const int64_t value = PyLong_AsLongLongAndOverflow(object, &overflow);
    if (overflow != 0) return std::nullopt;
    return value;
}

static bool is_supported(at::ScalarType type) {
    return type == at::kFloat || type == at::kHalf || type == at::kBFloat16 || type == at::kDouble;
}

static const at::Tensor* ordinary_tensor(PyObject* object) {
    if (!THPVariable_CheckExact(object)) return nullptr;
    constexpr c10::DispatchKeySet kUnusual({c10::DispatchKey::Python, c10::DispatchKey::Conjugate, c10::DispatchKey::Negative,
                                            c10::DispatchKey::ZeroTensor, c10::DispatchKey::FuncTorchGradWrapper,
                                            c10::DispatchKey::FuncTorchBatched, c10::DispatchKey::Functionalize});
    const at::Tensor& tensor = THPVariable_Unpack(object);
    const bool is_ordinary =
        (tensor.is_cpu() || tensor.is_privateuseone()) && tensor.layout() == at::kStrided && !tensor.key_set().has_any(kUnusual);
    return is_ordinary ? &tensor : nullptr;
}

bool is_eager() {
    constexpr c10::DispatchKeySet kModes({c10::DispatchKey::Python, c10::DispatchKey::PythonTLSSnapshot, c10::DispatchKey::Functionalize,
                                          c10::DispatchKey::PreDispatch, c10::DispatchKey::FuncTorchDynamicLayerFrontMode,
                                          c10::DispatchKey::FuncTorchDynamicLayerBackMode});
    return !c10::impl::tls_local_dispatch_key_set().included_.has_any(kModes) && !at::impl::torch_function_mode_enabled() &&
           !torch::jit::tracer::isTracing();
}

const at::Tensor* plain_tensor(PyObject* object) {
    const at::Tensor* const tensor = ordinary_tensor(object);
    return tensor != nullptr && is_supported(tensor->scalar_type()) && !tensor->_fw_grad(0).defined() ? tensor : nullptr;
}

const at::Tensor* plain_indices(PyObject* object) {
    const at::Tensor* const tensor = ordinary_tensor(object);
    if (tensor == nullptr) return nullptr;
    const bool is_of_npu = tensor->is_privateuseone() && tensor->scalar_type() == at::kInt;  // max_pool3d returns such indices on npu
    return is_of_npu || tensor->scalar_type() == at::kLong ? tensor : nullptr;
}

std::optional<Integers> integers(PyObject* object, Py_ssize_t count) {
    if (const auto all = integer(object)) return Integers(count, *all);
    if (!PyTuple_CheckExact(object) && !PyList_CheckExact(object)) return std::nullopt;
    const Py_ssize_t length = PySequence_Fast_GET_SIZE(object);
    if (length != count && length != 1) return std::nullopt;
    Integers values;
    for (Py_ssize_t i = 0; i < count; ++i) {
        const auto value = integer(PySequence_Fast_GET_ITEM(object, length == 1 ? 0 : i));
        if (!value) return std::nullopt;
        values.push_back(*value);
    }
    return values;
}

std::optional<bool> boolean(PyObject* object) {
    if (!PyBool_Check(object)) return std::nullopt;
    return object == Py_True;
}

}  // namespace torch_aclnn
