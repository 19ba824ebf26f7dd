#include "extension/python/functions.h"

#include <c10/core/DispatchKeySet.h>
#include <torch/csrc/Exceptions.h>
#include <torch/csrc/autograd/python_cpp_function.h>
#include <torch/csrc/autograd/python_variable.h>

#include "contract/limits.h"
#include "extension/autograd/batch_norm.h"
#include "extension/autograd/maps.h"
#include "extension/autograd/max_unpool.h"
#include "extension/ops/products.h"
#include "extension/python/arguments.h"
#include "torch_compatibility.h"

namespace torch_aclnn {
namespace {

PyObject* not_implemented() {
    Py_RETURN_NOTIMPLEMENTED;
}

// Returns what compute() returns, as a Python object. It runs without Python's lock, and without autocast: the functions keep their input's
// dtype.
PyObject* result_of(const auto& compute) {
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
    } catch (python_error& error) {  // raised by a warning that is an error
        error.restore();
        return nullptr;
    } catch (const std::exception&) {
        torch::translate_exception_to_python(std::current_exception());
        return nullptr;
    }
    return THPVariable_Wrap(std::move(result));
}

// Whether the product offers the operator. If not, the function in Python leaves the call to torch.
bool is_here(const at::Tensor& input, const char* operator_name) {
    return !input.is_privateuseone() || is_offered(operator_name);
}

// Returns a tensor (N, C, plane) or (C, plane) that may go to the operator, or null.
template <class Row>
const at::Tensor* planes(PyObject* object) {
    if (!is_eager()) return nullptr;
    const at::Tensor* const input = plain_tensor(object);
    const bool fits = input != nullptr && (input->dim() == Row::kDims + 1 || input->dim() == Row::kDims + 2);
    return fits && is_here(*input, Row::kFunction) ? input : nullptr;
}

PyObject* apply(const at::Tensor& input, const auto& map) {
    return result_of([&] { return differentiable_forward(input, map); });
}

bool are_within(const Integers& values, int64_t lowest) {
    return std::all_of(values.begin(), values.end(), [=](int64_t value) { return value >= lowest && value <= INT32_MAX; });
}

// Whether a call of average pooling is within the limits of the entry points' pages, of which Python has the numbers from _C.
template <int kDims>
bool is_listed(int64_t divisor, int64_t channels) {
    if (kDims == 3) return divisor != 0;
    return divisor != 0 && divisor >= -kMaxDivisorOfAvgPool2d && divisor <= kMaxDivisorOfAvgPool2d && channels <= kMaxChannelsOfAvgPool2d;
}

template <class Row>
PyObject* avg_pool(PyObject* const* arguments) {
    constexpr int kDims = Row::kDims;
    const at::Tensor* const input = planes<Row>(arguments[0]);
    const auto kernel_size = integers(arguments[1], kDims), padding = integers(arguments[3], kDims);
    const auto stride = arguments[2] == Py_None ? kernel_size : integers(arguments[2], kDims);
    const auto ceil_mode = boolean(arguments[4]), count_include_pad = boolean(arguments[5]);
    const auto given = arguments[6] == Py_None ? Integers{} : integers(arguments[6], 1);
    if (input == nullptr || !kernel_size || !stride || !padding || !ceil_mode || !count_include_pad || !given) return not_implemented();
    const std::optional<int64_t> divisor = given->empty() ? std::nullopt : std::optional((*given)[0]);
    if (!are_within(*kernel_size, 1) || !are_within(*stride, 1) || !are_within(*padding, 0)) return not_implemented();
    if (!is_listed<kDims>(divisor.value_or(1), input->size(-kDims - 1))) return not_implemented();
    for (int d = 0; d < kDims; ++d) {
        const int64_t window = (*kernel_size)[d], pad = (*padding)[d], partial = *ceil_mode ? (*stride)[d] - 1 : 0;
        const int64_t more = kDims == 3 ? 0 : 2 * pad + partial;  // torch wants volumes to hold a window without their padding
        if (pad > window / 2 || input->size(d - kDims) + more < window) return not_implemented();
    }
    const auto values = [](const Integers& all) { return PlaneValues(all.begin(), all.end()); };
    return apply(*input, AvgPoolMap<Row>{values(*kernel_size), values(*stride), values(*padding), *ceil_mode, *count_include_pad, divisor});
}

template <class Row>
PyObject* adaptive_avg_pool(PyObject* const* arguments) {
    const at::Tensor* const input = planes<Row>(arguments[0]);
    const auto output_size = integers(arguments[1], Row::kDims);
    if (input == nullptr || !output_size || !are_within(*output_size, 1)) return not_implemented();
    return apply(*input, AdaptiveAvgPoolMap<Row>{c10::SymDimVector(output_size->begin(), output_size->end())});
}

// Calls a padding whose sizes are below those that they extend, which every mode accepts.
template <class Row>
PyObject* pad(PyObject* const* arguments) {
    constexpr int kSides = 2 * Row::kDims;
    const at::Tensor* const input = planes<Row>(arguments[0]);
    const auto padding = integers(arguments[1], kSides);
    if (input == nullptr || !padding || !are_within(*padding, 0)) return not_implemented();
    for (int side = 0; side < kSides; ++side)
        if ((*padding)[side] >= input->size(-1 - side / 2)) return not_implemented();
    return apply(*input, PadMap<Row>{c10::SymDimVector(padding->begin(), padding->end())});
}

// Returns the sizes of an unpooling's planes, of which the pooling's arguments leave less than a stride of choice.
std::optional<Integers> unpooled_size(const at::Tensor& input, const Integers& kernel_size, const Integers& stride, const Integers& padding,
                                      PyObject* asked) {
    const auto dims = static_cast<int64_t>(kernel_size.size());
    Integers size;
    for (int64_t d = 0; d < dims; ++d) size.push_back((input.size(d - dims) - 1) * stride[d] + kernel_size[d] - 2 * padding[d]);
    if (asked == Py_None) return are_within(size, 1) ? std::optional(size) : std::nullopt;
    if (!PyTuple_Check(asked) && !PyList_Check(asked)) return std::nullopt;
    const auto given = integers(asked, dims);
    if (!given || !are_within(*given, 1)) return std::nullopt;
    for (int64_t d = 0; d < dims; ++d)
        if (std::abs((*given)[d] - size[d]) >= stride[d]) return std::nullopt;
    return given;
}

template <class Row>
PyObject* unpool(PyObject* const* arguments) {
    constexpr int kDims = Row::kDims;
    const at::Tensor* const input = planes<Row>(arguments[0]);
    const at::Tensor* const indices = plain_indices(arguments[1]);
    const auto kernel_size = integers(arguments[2], kDims), padding = integers(arguments[4], kDims);
    const auto stride = arguments[3] == Py_None ? kernel_size : integers(arguments[3], kDims);
    if (input == nullptr || indices == nullptr || !kernel_size || !stride || !padding) return not_implemented();
    const bool fits = indices->sizes() == input->sizes() && indices->device() == input->device() && are_within(*kernel_size, 1) &&
                      are_within(*stride, 1) && are_within(*padding, 0);
    if (!fits) return not_implemented();
    const auto size = unpooled_size(*input, *kernel_size, *stride, *padding, arguments[5]);
    if (!size) return not_implemented();
    const MaxUnpoolArguments all{
        c10::SymDimVector(size->begin(), size->end()), {stride->begin(), stride->end()}, {padding->begin(), padding->end()}};
    return result_of([&] { return max_unpool<Row>(*input, *indices, all); });
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
    return result_of([&] { return train_batch_norm(all); });
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

// A node of a type that torch was not told of. torch has one Python type for all such nodes, which it returns for an instance only.
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

PyMethodDef* functions() {
// The methods of the module for each family, with the names of the functions of torch_aclnn.functional.
#define TORCH_ACLNN_AVERAGE_POOLING_METHOD(Type, name, ...) \
    method<avg_pool<rows::Type>, 7>(                        \
        #name, "(input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override) -> pooled input"),
#define TORCH_ACLNN_ADAPTIVE_AVERAGE_POOLING_METHOD(Type, name, ...) \
    method<adaptive_avg_pool<rows::Type>, 2>(#name, "(input, output_size) -> pooled input"),
#define TORCH_ACLNN_PADDING_METHOD(Type, name, ...) method<pad<rows::Type>, 2>(#name, "(input, padding) -> padded input"),
#define TORCH_ACLNN_MAX_UNPOOLING_METHOD(Type, name, ...) \
    method<unpool<rows::Type>, 6>(#name, "(input, indices, kernel_size, stride, padding, output_size) -> unpooled input"),
    static PyMethodDef table[] = {
        TORCH_ACLNN_AVERAGE_POOLINGS(TORCH_ACLNN_AVERAGE_POOLING_METHOD)
            TORCH_ACLNN_ADAPTIVE_AVERAGE_POOLINGS(TORCH_ACLNN_ADAPTIVE_AVERAGE_POOLING_METHOD)
                TORCH_ACLNN_PADDINGS(TORCH_ACLNN_PADDING_METHOD) TORCH_ACLNN_MAX_UNPOOLINGS(TORCH_ACLNN_MAX_UNPOOLING_METHOD)
                    method<batch_norm, 8>("batch_norm",
                                          "(input, running_mean, running_var, weight, bias, training, momentum, eps) -> normalised input"),
        {"is_offered", is_offered_here, METH_O, "(operator) -> whether the product that is present has its entry point"},
        {},
    };
    return table;
}

}  // namespace torch_aclnn
