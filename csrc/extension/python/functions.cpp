#include "extension/python/functions.h"

#include <c10/core/DispatchKeySet.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/csrc/Exceptions.h>
#include <torch/csrc/autograd/python_variable.h>

#include <algorithm>

#include "extension/autograd/adaptive_avg_pool.h"
#include "extension/autograd/avg_pool2d.h"
#include "extension/autograd/batch_norm.h"
#include "extension/autograd/max_unpool3d.h"
#include "extension/autograd/padding.h"
#include "extension/ops/products.h"
#include "extension/python/arguments.h"

namespace torch_aclnn {
namespace {

// Limits of the operators' documents, and of torch's arguments; torch_aclnn.functional has the same.
constexpr int64_t kMaxDivisor = 255, kMaxChannels = 65535;

PyObject* not_implemented() {
    Py_RETURN_NOTIMPLEMENTED;
}

// What becomes of an exception. Where nothing but the result is written, the function in Python makes the same call again, after checks
// that say more.
enum class Failure { repeat_in_python, raise };

// What compute() returns, as a Python object. It runs without Python's lock, and without autocast: the functions keep their input's dtype.
template <Failure failure = Failure::repeat_in_python, class Compute>
PyObject* result_of(const Compute& compute) {
    at::Tensor result;
    try {
        torch::PyWarningHandler warnings;
        PyThreadState* const state = PyEval_SaveThread();
        try {
            const c10::impl::ExcludeDispatchKeyGuard without_autocast(c10::autocast_dispatch_keyset);
            result = compute();
        } catch (...) {
            PyEval_RestoreThread(state);
            throw;
        }
        PyEval_RestoreThread(state);
    } catch (python_error& error) {  // a warning that is an error
        error.restore();
        return nullptr;
    } catch (const std::exception&) {
        if (failure == Failure::repeat_in_python) return not_implemented();
        torch::translate_exception_to_python(std::current_exception());
        return nullptr;
    }
    return THPVariable_Wrap(std::move(result));
}

// What a product does not offer, the function in Python leaves to torch.
bool is_here(const at::Tensor& input, const char* operator_name) {
    return !input.is_privateuseone() || is_offered(operator_name);
}

template <class Map>
PyObject* apply(const at::Tensor& input, const Map& map) {
    return result_of([&] { return differentiable_forward(input, map); });
}

bool are_within(const Integers& values, int64_t lowest) {
    return std::all_of(values.begin(), values.end(), [=](int64_t value) { return value >= lowest && value <= INT32_MAX; });
}

PyObject* avg_pool2d(PyObject* const* arguments) {
    if (!is_eager()) return not_implemented();
    const at::Tensor* const input = plain_tensor(arguments[0]);
    const auto kernel_size = integers(arguments[1], 2);
    const auto stride = arguments[2] == Py_None ? kernel_size : integers(arguments[2], 2);
    const auto padding = integers(arguments[3], 2);
    const auto ceil_mode = boolean(arguments[4]), count_include_pad = boolean(arguments[5]);
    const auto divisor = arguments[6] == Py_None ? Integers{} : integers(arguments[6], 1);
    if (input == nullptr || !kernel_size || !stride || !padding || !ceil_mode || !count_include_pad || !divisor) return not_implemented();
    const bool has_divisor = !divisor->empty();
    const bool fits = are_within(*kernel_size, 1) && are_within(*stride, 1) && are_within(*padding, 0) &&
                      (!has_divisor || (*divisor)[0] != 0) && (!has_divisor || std::abs((*divisor)[0]) <= kMaxDivisor) &&
                      (input->dim() == 3 || input->dim() == 4) && input->size(-3) <= kMaxChannels && is_here(*input, "avg_pool2d");
    if (!fits) return not_implemented();
    return apply(*input, AvgPool2dMap{AvgPool2dMap::pair(*kernel_size), AvgPool2dMap::pair(*stride), AvgPool2dMap::pair(*padding),
                                      *ceil_mode, *count_include_pad, has_divisor ? std::optional((*divisor)[0]) : std::nullopt});
}

template <class Map, int64_t plane_dims>
PyObject* adaptive_avg_pool(PyObject* const* arguments) {
    if (!is_eager()) return not_implemented();
    const at::Tensor* const input = plain_tensor(arguments[0]);
    const auto output_size = integers(arguments[1], plane_dims);
    if (input == nullptr || !output_size || (input->dim() != plane_dims + 1 && input->dim() != plane_dims + 2)) return not_implemented();
    if (!are_within(*output_size, 1) || !is_here(*input, plane_dims == 2 ? "adaptive_avg_pool2d" : "adaptive_avg_pool3d"))
        return not_implemented();
    return apply(*input, Map{c10::SymDimVector(output_size->begin(), output_size->end())});
}

template <class Map>
PyObject* pad2d(PyObject* const* arguments) {
    if (!is_eager()) return not_implemented();
    const at::Tensor* const input = plain_tensor(arguments[0]);
    const auto padding = integers(arguments[1], 4);
    if (input == nullptr || !padding || (input->dim() != 3 && input->dim() != 4) || !are_within(*padding, 0)) return not_implemented();
    if (!is_here(*input, "replication_pad2d")) return not_implemented();  // both, or none
    for (int side = 0; side < 4; ++side)
        if ((*padding)[side] >= input->size(side < 2 ? -1 : -2)) return not_implemented();
    return apply(*input, Map{c10::SymDimVector(padding->begin(), padding->end())});
}

// The last three sizes of an unpooling's result, of which the pooling's arguments leave less than a stride of choice.
std::optional<Integers> unpooled_size(const at::Tensor& input, const Integers& kernel_size, const Integers& stride, const Integers& padding,
                                      PyObject* asked) {
    Integers size;
    for (int64_t d = 0; d < 3; ++d) size.push_back((input.size(d - 3) - 1) * stride[d] + kernel_size[d] - 2 * padding[d]);
    if (asked == Py_None) return are_within(size, 1) ? std::optional(size) : std::nullopt;
    if (!PyTuple_Check(asked) && !PyList_Check(asked)) return std::nullopt;
    const auto given = integers(asked, 3);
    if (!given || !are_within(*given, 1)) return std::nullopt;
    for (int64_t d = 0; d < 3; ++d)
        if (std::abs((*given)[d] - size[d]) >= stride[d]) return std::nullopt;
    return given;
}

PyObject* unpool3d(PyObject* const* arguments) {
    if (!is_eager()) return not_implemented();
    const at::Tensor* const input = plain_tensor(arguments[0]);
    const at::Tensor* const indices = plain_indices(arguments[1]);
    const auto kernel_size = integers(arguments[2], 3), padding = integers(arguments[4], 3);
    const auto stride = arguments[3] == Py_None ? kernel_size : integers(arguments[3], 3);
    if (input == nullptr || indices == nullptr || !kernel_size || !stride || !padding) return not_implemented();
    const bool fits = (input->dim() == 4 || input->dim() == 5) && indices->sizes() == input->sizes() &&
                      indices->device() == input->device() && are_within(*kernel_size, 1) && are_within(*stride, 1) &&
                      are_within(*padding, 0) && is_here(*input, "max_unpool3d");
    if (!fits) return not_implemented();
    const auto size = unpooled_size(*input, *kernel_size, *stride, *padding, arguments[5]);
    if (!size) return not_implemented();
    const MaxUnpool3dArguments all{
        c10::SymDimVector(size->begin(), size->end()), {stride->begin(), stride->end()}, {padding->begin(), padding->end()}};
    return result_of([&] { return max_unpool3d(*input, *indices, all); });
}

// None is an undefined tensor; nullptr where the object is anything else than that or a plain tensor of (channels).
const at::Tensor* per_channel_or_none(PyObject* object, const at::Tensor& input) {
    static const at::Tensor none;
    if (object == Py_None) return &none;
    const at::Tensor* const tensor = plain_tensor(object);
    const bool fits = tensor != nullptr && tensor->dim() == 1 && tensor->size(0) == input.size(1) && tensor->device() == input.device();
    return fits ? tensor : nullptr;
}

PyObject* batch_norm(PyObject* const* arguments) {
    constexpr int64_t kMaxRank = 8;
    if (!is_eager() || arguments[5] != Py_True) return not_implemented();
    const at::Tensor* const input = plain_tensor(arguments[0]);
    if (input == nullptr || input->dim() < 2 || input->dim() > kMaxRank || input->numel() <= input->size(1)) return not_implemented();
    const at::Tensor* channels[4];
    for (int i = 0; i < 4; ++i)
        if ((channels[i] = per_channel_or_none(arguments[1 + i], *input)) == nullptr) return not_implemented();
    if (!PyFloat_CheckExact(arguments[6]) || !PyFloat_CheckExact(arguments[7])) return not_implemented();
    const BatchNormArguments all{
        *input, *channels[0], *channels[1], *channels[2], *channels[3], PyFloat_AS_DOUBLE(arguments[6]), PyFloat_AS_DOUBLE(arguments[7])};
    if (all.eps <= 0 || channels[0]->defined() != channels[1]->defined() || !has_fused_batch_norm(all) ||
        !is_here(*input, "batch_norm_elemt"))
        return not_implemented();
    return result_of<Failure::raise>([&] { return train_batch_norm(all); });  // the running statistics may have been updated
}

PyObject* is_offered_here(PyObject*, PyObject* operator_name) {
    const char* const name = PyUnicode_AsUTF8(operator_name);
    return name == nullptr ? nullptr : PyBool_FromLong(is_offered(name));
}

using Function = PyObject*(PyObject* const* arguments);

template <Function* function, Py_ssize_t count>
PyObject* call(PyObject*, PyObject* const* arguments, Py_ssize_t given) {
    if (given == count) return function(arguments);
    return PyErr_Format(PyExc_TypeError, "expected %zd arguments, got %zd", count, given);
}

template <Function* function, Py_ssize_t count>
PyMethodDef method(const char* name, const char* doc) {
    return {name, reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(call<function, count>)), METH_FASTCALL, doc};
}

}  // namespace

PyMethodDef* functions() {
    static PyMethodDef table[] = {
        method<avg_pool2d, 7>("avg_pool2d",
                              "(input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override) -> pooled input"),
        method<adaptive_avg_pool<AdaptiveAvgPool2dMap, 2>, 2>("adaptive_avg_pool2d", "(input, output_size) -> pooled input"),
        method<adaptive_avg_pool<AdaptiveAvgPool3dMap, 3>, 2>("adaptive_avg_pool3d", "(input, output_size) -> pooled input"),
        method<pad2d<ReplicationPad2dMap>, 2>("replication_pad2d", "(input, padding) -> padded input"),
        method<pad2d<ReflectionPad2dMap>, 2>("reflection_pad2d", "(input, padding) -> padded input"),
        method<batch_norm, 8>("batch_norm",
                              "(input, running_mean, running_var, weight, bias, training, momentum, eps) -> normalised input"),
        method<unpool3d, 6>("max_unpool3d", "(input, indices, kernel_size, stride, padding, output_size) -> unpooled input"),
        {"is_offered", is_offered_here, METH_O, "(operator) -> whether the product that is present has its entry point"},
        {},
    };
    return table;
}

}  // namespace torch_aclnn
