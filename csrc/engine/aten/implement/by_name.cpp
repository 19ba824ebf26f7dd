#include "engine/aten/implement/by_name.h"

#include <string_view>

#include "engine/aten/by_name/call.h"

namespace torch_aclnn::host::aten {
namespace {

// An attribute whose kind is another than the signature's is refused with both.
template <class Value>
void put_attribute(const Call& call, const char* name, ShownValue& shown) {
    shown.put(call.attribute<Value>(name));
}

struct AttributeType {
    std::string_view text;
    torchAclnnValueKind kind;
    void (*put)(const Call& call, const char* name, ShownValue& shown);
};
constexpr AttributeType kAttributeTypes[] = {
    {"int", TORCH_ACLNN_NUMBERS, put_attribute<int64_t>},
    {"float", TORCH_ACLNN_NUMBERS, put_attribute<float>},
    {"bool", TORCH_ACLNN_NUMBERS, put_attribute<bool>},
    {"str", TORCH_ACLNN_TEXT, put_attribute<std::string>},
    {"ScalarType", TORCH_ACLNN_DATA_TYPE, put_attribute<aclDataType>},
    {"int[]", TORCH_ACLNN_NUMBERS, put_attribute<std::vector<int64_t>>},
    {"float[]", TORCH_ACLNN_NUMBERS, put_attribute<std::vector<float>>},
    {"bool[]", TORCH_ACLNN_NUMBERS, put_attribute<std::vector<unsigned char>>},
};

// Null for a type of tensors.
const AttributeType* find_attribute(std::string_view type) {
    if (type.back() == '?') type.remove_suffix(1);
    for (const AttributeType& one : kAttributeTypes)
        if (one.text == type) return &one;
    return nullptr;
}

class Reader {
   public:
    explicit Reader(Call& call) : call_(call) {}

    void read(const SignatureParameter& parameter, ShownValue& shown) {
        if (parameter.type->is_written)
            read_output(*parameter.type, shown);
        else if (const AttributeType* const attribute = find_attribute(parameter.type->text))
            read_attribute(*attribute, parameter, shown);
        else
            read_input(*parameter.type, shown);
    }

    // Once the function has been called.
    void write_outputs() {
        for (size_t i = 0; i < outputs_.size(); ++i)
            if (outputs_[i].defined()) call_.write(i, outputs_[i]);
    }

    void require_all_read() const {
        if (next_input_ < call_.input_count())
            refuse("inputs", text("the ", next_input_, " of the signature"), std::to_string(call_.input_count()));
        if (outputs_.size() < call_.output_count())
            refuse("outputs", text("the ", outputs_.size(), " of the signature"), std::to_string(call_.output_count()));
    }

   private:
    void read_attribute(const AttributeType& attribute, const SignatureParameter& parameter, ShownValue& shown) {
        if (parameter.type->nullable && !call_.has_attribute(parameter.name.c_str()))
            shown.put_absent(attribute.kind);
        else
            attribute.put(call_, parameter.name.c_str(), shown);
    }

    void read_input(const SignatureType& type, ShownValue& shown) {
        if (std::string_view(type.text) == "Tensor[]") {
            inputs_.push_back(call_.inputs_from(next_input_));
            next_input_ = call_.input_count();
            return shown.put(inputs_.back());
        }
        const size_t i = next_input_++;
        if (type.nullable && !call_.has_input(i)) return shown.put_absent(TORCH_ACLNN_TENSORS);
        inputs_.push_back({call_.input(i)});
        shown.put(inputs_.back()[0]);
    }

    void read_output(const SignatureType& type, ShownValue& shown) {
        const size_t i = outputs_.size();
        outputs_.emplace_back();
        if (type.nullable && !call_.has_output(i)) return shown.put_absent(TORCH_ACLNN_TENSORS);
        outputs_.back() = at::empty(call_.output_sizes(i), call_.output_type(i));
        shown.put(outputs_.back());
    }

    Call& call_;
    size_t next_input_ = 0;
    std::vector<std::vector<at::Tensor>> inputs_;  // what the values refer to
    std::vector<at::Tensor> outputs_;
};

}  // namespace

void run_implemented(const ImplementedFunction& function, OperatorCall& of_runtime) {
    run_plainly([&] {
        Call call(of_runtime);
        Reader reader(call);
        std::vector<ShownValue> values(function.parameters().size());
        for (size_t i = 0; i < values.size(); ++i) reader.read(function.parameters()[i], values[i]);
        reader.require_all_read();
        function.call(values);
        reader.write_outputs();
    });
}

}  // namespace torch_aclnn::host::aten
