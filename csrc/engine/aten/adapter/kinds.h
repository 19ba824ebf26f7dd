// The kinds of arguments that entry points take: the C type of each, and the ATen value that an adapter's body sees.
//
// A kind has Handle (the C type), Value (what is kept between the phases), Parameter (what the body receives), nullable (whether a null
// pointer means "not given") and read(), which checks what can be checked of one argument alone.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Scalar.h>
#include <c10/util/DimVector.h>

#include "engine/opapi/handles.h"

namespace torch_aclnn::host::aten {

// All readers throw an Error that names the parameter.
at::ScalarType scalar_type(const char* name, aclDataType dtype);
aclDataType acl_data_type(at::ScalarType type);  // ACL_DT_UNDEFINED for one that entry points do not have
std::string dtype_name(at::ScalarType type);     // "FLOAT", as the documents have it
at::Tensor read_tensor(const char* name, const aclTensor* handle);
at::Tensor read_output(const char* name, aclTensor* handle);
at::Scalar read_scalar(const char* name, const aclScalar* handle);
at::IntArrayRef read_ints(const char* name, const aclIntArray* handle);
at::IntArrayRef read_shape(const char* name, const aclIntArray* handle);  // a tensor's shape
std::vector<int64_t> copy_ints(const char* name, const aclIntArray* handle);
std::vector<unsigned char> read_bools(const char* name, const aclBoolArray* handle);
std::vector<at::Tensor> read_tensors(const char* name, const aclTensorList* handle);
std::vector<at::Tensor> read_outputs(const char* name, const aclTensorList* handle);
std::vector<at::Scalar> read_scalars(const char* name, const aclScalarList* handle);

// An output whose size depends on the data. The caller sends the largest it can become, waits for the stream and asks the handle for its
// shape; so the handle outlives phase 2.
class PackedOutput {
   public:
    PackedOutput(const char* name, aclTensor* handle);

    // Writes the result without gaps from the first element on, and its shape into the caller's handle.
    void pack(const at::Tensor& result) const;

    const at::Tensor& tensor() const { return largest_; }
    // Returns the tensor to be replaced by another one, without an effect on the handle.
    at::Tensor& detached() {
        handle_ = nullptr;
        return largest_;
    }

   private:
    const char* name_;
    at::Tensor largest_;
    aclTensor* handle_;
};
inline PackedOutput read_packed(const char* name, aclTensor* handle) {
    return {name, handle};
}

template <class HandleType, class ValueType, class ParameterType, auto reader>
struct Kind {
    using Handle = HandleType;
    using Value = ValueType;
    using Parameter = ParameterType;
    static constexpr bool nullable = false;
    static decltype(auto) read(const char* name, Handle handle) { return reader(name, handle); }
};

template <class HandleType, class ValueType, auto reader>
struct OptionalKind {
    using Handle = HandleType;
    using Value = std::optional<ValueType>;
    using Parameter = const Value&;
    static constexpr bool nullable = true;
    static Value read(const char* name, Handle handle) { return handle == nullptr ? std::nullopt : Value(reader(name, handle)); }
};

template <class Number>
struct PlainKind {
    using Handle = Number;
    using Value = Number;
    using Parameter = Number;
    static constexpr bool nullable = false;
    static Value read(const char*, Handle number) { return number; }
};

namespace kind {

using In = Kind<const aclTensor*, at::Tensor, const at::Tensor&, read_tensor>;
using Out = Kind<aclTensor*, at::Tensor, at::Tensor&, read_output>;
struct InOut : Out {};  // is read and then written
using OptIn = OptionalKind<const aclTensor*, at::Tensor, read_tensor>;
using OptOut = OptionalKind<aclTensor*, at::Tensor, read_output>;
struct OptInOut : OptOut {};
using Packed = Kind<aclTensor*, PackedOutput, const PackedOutput&, read_packed>;
using Scalar = Kind<const aclScalar*, at::Scalar, const at::Scalar&, read_scalar>;
using OptScalar = OptionalKind<const aclScalar*, at::Scalar, read_scalar>;
using Ints = Kind<const aclIntArray*, at::DimVector, at::IntArrayRef, read_ints>;
using OptInts = OptionalKind<const aclIntArray*, std::vector<int64_t>, copy_ints>;
using Shape = Kind<const aclIntArray*, at::DimVector, at::IntArrayRef, read_shape>;
using Bools = Kind<const aclBoolArray*, std::vector<unsigned char>, at::ArrayRef<unsigned char>, read_bools>;
using OptBools = OptionalKind<const aclBoolArray*, std::vector<unsigned char>, read_bools>;
using Tensors = Kind<const aclTensorList*, std::vector<at::Tensor>, at::TensorList, read_tensors>;
using OptTensors = OptionalKind<const aclTensorList*, std::vector<at::Tensor>, read_tensors>;
// Lists whose members are written; the documents' prototypes have them as constant, too.
struct TensorsOut : Kind<const aclTensorList*, std::vector<at::Tensor>, at::TensorList, read_outputs> {
    static constexpr bool writes_members = true;
};
struct TensorsInOut : TensorsOut {};
struct OptTensorsOut : OptionalKind<const aclTensorList*, std::vector<at::Tensor>, read_outputs> {
    static constexpr bool writes_members = true;
};
using Scalars = Kind<const aclScalarList*, std::vector<at::Scalar>, at::ArrayRef<at::Scalar>, read_scalars>;
using DType = Kind<aclDataType, at::ScalarType, at::ScalarType, scalar_type>;
using Bool = PlainKind<bool>;
using Int = PlainKind<int64_t>;
using Double = PlainKind<double>;
using Float = PlainKind<float>;

}  // namespace kind
}  // namespace torch_aclnn::host::aten
