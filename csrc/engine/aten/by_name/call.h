// Operators that are called by their names, on ATen's CPU kernels. A source file has those of a family, and each is a body:
//
//     OPERATOR(Square) {
//         call.write(0, call.computing(0).square());
//     }
//
// or, where that is all of it, RESULT_OPERATOR(Square, call.computing(0).square()).
// It is found under its name while the library is loaded. Inputs come as plain tensors, whatever their layout in memory, and results go
// into the output's layout and data type. What is wrong with a call is an Error, which the stream carries to the next synchronisation.
#pragma once

#include "engine/aten/adapter/adapter.h"
#include "engine/aten/numerics/groups.h"
#include "engine/runtime/operator_by_name/operator_call.h"

namespace torch_aclnn::host::aten {

class Call {
   public:
    explicit Call(OperatorCall& call) : call_(call) {}

    size_t input_count() const { return call_.inputs.size(); }
    size_t output_count() const { return call_.outputs.size(); }

    bool has_input(size_t i) const { return i < input_count() && call_.inputs[i].is_given(); }
    at::Tensor input(size_t i) const;
    // Returns half types as float32, so that results are rounded once, when they are written.
    at::Tensor computing(size_t i) const { return upcast(input(i)); }
    std::optional<at::Tensor> optional(size_t i) const { return has_input(i) ? std::optional(input(i)) : std::nullopt; }
    std::optional<at::Tensor> optional_computing(size_t i) const { return upcast(optional(i)); }
    std::vector<at::Tensor> inputs_from(size_t first) const;

    // An input of few numbers takes the role of an attribute: axes, a shape, a scalar.
    std::vector<int64_t> integers(size_t i) const { return numbers(input(i)); }
    at::Scalar scalar(size_t i) const;

    bool has_output(size_t i) const { return i < output_count() && call_.outputs[i].is_given(); }
    std::vector<int64_t> output_sizes(size_t i) const;
    at::ScalarType output_type(size_t i) const;
    // Refuses a result of another shape than the output's, but for dimensions of one element.
    void write(size_t i, const at::Tensor& result);
    // Writes an output whose size depends on the data: from the first element on, and with the result's shape as its own.
    void pack(size_t i, const at::Tensor& result);

    bool has_attribute(const char* name) const { return call_.attributes.count(name) != 0; }
    // Returns an attribute of type bool, int64_t, float, std::string, aclDataType, std::vector<int64_t> or std::vector<float>.
    template <class Value>
    const Value& attribute(const char* name) const;
    template <class Value>
    Value attribute(const char* name, const Value& otherwise) const {
        return has_attribute(name) ? attribute<Value>(name) : otherwise;
    }
    // Refuses an attribute that is given and has another value.
    void require_text(const char* name, const std::string& expected) const;

   private:
    const CallTensor& given_input(size_t i) const;
    CallTensor& given_output(size_t i) const;

    OperatorCall& call_;
};

void require_count(const char* name, at::IntArrayRef values, int64_t count);

template <void (*body)(Call&)>
void run_by_name(OperatorCall& of_runtime) {
    Call call(of_runtime);
    run_plainly([&] { body(call); });
}

}  // namespace torch_aclnn::host::aten

// For the bodies.
using namespace torch_aclnn::host;
using namespace torch_aclnn::host::aten;

#define OPERATOR(name)                                                           \
    static void name##ByName([[maybe_unused]] Call& call);                       \
    static const NamedOperator name##Operator(#name, run_by_name<name##ByName>); \
    static void name##ByName([[maybe_unused]] Call& call)

// Defines an operator whose body is one statement, and one that only writes its result.
#define RUN_OPERATOR(name, ...) \
    OPERATOR(name) {            \
        __VA_ARGS__;            \
    }
#define RESULT_OPERATOR(name, ...) RUN_OPERATOR(name, call.write(0, __VA_ARGS__))
