#include "engine/aten/by_name/call.h"

#include <iterator>

#include "engine/aten/layout/layout.h"
#include "engine/runtime/memory/host_view.h"

namespace torch_aclnn::host::aten {

static std::string input_name(size_t i) {
    return "input " + std::to_string(i);
}

static std::string output_name(size_t i) {
    return "output " + std::to_string(i);
}

static at::Tensor storage_of(const std::string& name, CallTensor& tensor) {
    const at::ScalarType type = scalar_type(name.c_str(), tensor.type);
    void* const memory = tensor.bytes == 0 ? nullptr : host_view(tensor.memory());
    return at::from_blob(memory, tensor.dims, at::TensorOptions(type));
}

// Plain memory is of the shape that the operator sees, if there are as many elements: a format may have added dimensions of one element.
static bool is_same_count(const CallTensor& tensor) {
    return c10::multiply_integers(tensor.origin_dims) == c10::multiply_integers(tensor.dims);
}

static bool has_layout(const CallTensor& tensor) {
    return Layout::describes(tensor.format) && tensor.format != tensor.origin_format;
}

static Layout layout_of(const std::string& name, const CallTensor& tensor) {
    return Layout::in_memory(name.c_str(), tensor.format, tensor.origin_dims, tensor.dims);
}

// Formats and keepdims add dimensions of one element, or leave them out.
static at::DimVector without_ones(at::IntArrayRef sizes) {
    at::DimVector kept;
    std::copy_if(sizes.begin(), sizes.end(), std::back_inserter(kept), [](int64_t size) { return size != 1; });
    return kept;
}

static const std::vector<int64_t>& sizes_of(const CallTensor& tensor) {
    return has_layout(tensor) || is_same_count(tensor) ? tensor.origin_dims : tensor.dims;
}

void require_count(const char* name, at::IntArrayRef values, int64_t count) {
    if (static_cast<int64_t>(values.size()) != count) refuse(name, c10::str(count, " values"), c10::str(values));
}

const CallTensor& Call::given_input(size_t i) const {
    if (!has_input(i)) refuse(input_name(i), "a tensor", i < input_count() ? "none" : c10::str("a call with ", input_count(), " inputs"));
    return call_.inputs[i];
}

CallTensor& Call::given_output(size_t i) const {
    if (!has_output(i))
        refuse(output_name(i), "a tensor", i < output_count() ? "none" : c10::str("a call with ", output_count(), " outputs"));
    return call_.outputs[i];
}

at::Tensor Call::input(size_t i) const {
    (void)given_input(i);
    CallTensor& tensor = call_.inputs[i];
    const std::string name = input_name(i);
    const at::Tensor storage = storage_of(name, tensor);
    return has_layout(tensor) ? layout_of(name, tensor).from_storage(storage) : storage.view(sizes_of(tensor));
}

std::vector<at::Tensor> Call::inputs_from(size_t first) const {
    std::vector<at::Tensor> tensors;
    for (size_t i = first; i < input_count(); i++) tensors.push_back(input(i));
    return tensors;
}

at::Scalar Call::scalar(size_t i) const {
    const at::Tensor value = input(i);
    if (value.numel() != 1) refuse(input_name(i), "one element", shape_text(value.sizes()));
    return value.item();
}

std::vector<int64_t> Call::output_sizes(size_t i) const {
    return sizes_of(given_output(i));
}

at::ScalarType Call::output_type(size_t i) const {
    return scalar_type(output_name(i).c_str(), given_output(i).type);
}

void Call::write(size_t i, const at::Tensor& result) {
    CallTensor& tensor = given_output(i);
    const std::string name = output_name(i);
    at::Tensor storage = storage_of(name, tensor);
    const std::vector<int64_t>& sizes = sizes_of(tensor);
    if (without_ones(result.sizes()) != without_ones(sizes))
        refuse(name, c10::str("the result's shape ", result.sizes()), shape_text(at::IntArrayRef(sizes)));
    if (has_layout(tensor))
        layout_of(name, tensor).to_storage(storage, result.reshape(sizes));
    else
        storage.view(sizes).copy_(result.reshape(sizes));
}

void Call::pack(size_t i, const at::Tensor& result) {
    CallTensor& tensor = given_output(i);
    const std::string name = output_name(i);
    at::Tensor storage = storage_of(name, tensor);
    if (result.numel() > storage.numel()) refuse(name, c10::str("room for ", result.numel(), " elements"), std::to_string(storage.numel()));
    if (has_layout(tensor)) {
        const at::Tensor all = at::zeros(tensor.origin_dims, result.options());
        at::Tensor part = all;
        for (int64_t d = 0; d < result.dim(); d++) part = part.narrow(d, 0, result.size(d));
        part.copy_(result);
        layout_of(name, tensor).to_storage(storage, all);
    } else {
        storage.view(-1).narrow(0, 0, result.numel()).copy_(result.reshape(-1));
    }
    tensor.dims = result.sizes().vec();
}

template <class Value>
const Value& Call::attribute(const char* name) const {
    const std::string expected = kAttributeKinds[Attribute(Value()).index()];
    const auto found = call_.attributes.find(name);
    if (found == call_.attributes.end()) refuse("attribute " + std::string(name), expected, "none");
    const auto* const value = std::get_if<Value>(&found->second);
    if (value == nullptr) refuse("attribute " + std::string(name), expected, kAttributeKinds[found->second.index()]);
    return *value;
}

void Call::require_text(const char* name, const std::string& expected) const {
    const std::string& got = attribute<std::string>(name, expected);
    if (got != expected) refuse("attribute " + std::string(name), expected, got);
}

template const bool& Call::attribute(const char*) const;
template const int64_t& Call::attribute(const char*) const;
template const float& Call::attribute(const char*) const;
template const std::string& Call::attribute(const char*) const;
template const aclDataType& Call::attribute(const char*) const;
template const std::vector<int64_t>& Call::attribute(const char*) const;
template const std::vector<float>& Call::attribute(const char*) const;
template const std::vector<unsigned char>& Call::attribute(const char*) const;

}  // namespace torch_aclnn::host::aten
