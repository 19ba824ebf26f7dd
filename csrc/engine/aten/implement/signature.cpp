#include "engine/aten/implement/signature.h"

#include <algorithm>
#include <iterator>
#include <regex>
#include <string_view>

#include "engine/opapi/checks.h"

namespace torch_aclnn::host::aten {
namespace {

std::vector<float> read_floats(const char* name, const aclFloatArray* handle) {
    require_handle(name, handle);
    return {handle->values.begin(), handle->values.end()};
}

std::string read_text(const char* name, const char* text) {
    require_not_null(name, text);
    return text;
}

// Kinds that no adapter has.
struct Floats : Kind<const aclFloatArray*, std::vector<float>, at::ArrayRef<float>, read_floats> {};
struct OptFloats : OptionalKind<const aclFloatArray*, std::vector<float>, read_floats> {};
struct Text : Kind<const char*, std::string, const std::string&, read_text> {};
struct OptText : OptionalKind<const char*, std::string, read_text> {};
struct DataType : PlainKind<aclDataType> {};

template <class Value>
void show(const void* value, ShownValue& shown) {
    shown.put(*static_cast<const Value*>(value));
}

template <class KindOfType>
constexpr SignatureType type(const char* text, const char* kind_name, bool is_by_name_too = true, bool is_written = false) {
    return {text,
            kind_name,
            &kErased<KindOfType>,
            show<typename KindOfType::Value>,
            KindOfType::nullable,
            std::is_floating_point_v<typename KindOfType::Handle>,
            is_written,
            is_by_name_too};
}

// An attribute that a call may leave out; an entry point has no such parameter.
constexpr SignatureType attribute(const char* text) {
    return {text, nullptr, nullptr, nullptr, true, false, false, true};
}

constexpr bool kEntryPointsOnly = false, kWritten = true;
const SignatureType kSignatureTypes[] = {
    type<kind::In>("Tensor", "In"),
    type<kind::OptIn>("Tensor?", "OptIn"),
    type<kind::InOut>("Tensor(a!)", "InOut", true, kWritten),
    type<kind::OptOut>("Tensor(a!)?", "OptOut", true, kWritten),
    type<kind::Tensors>("Tensor[]", "Tensors"),
    type<kind::OptTensors>("Tensor[]?", "OptTensors", kEntryPointsOnly),
    type<kind::TensorsInOut>("Tensor(a!)[]", "TensorsInOut", kEntryPointsOnly, kWritten),
    type<kind::Scalar>("Scalar", "Scalar", kEntryPointsOnly),
    type<kind::OptScalar>("Scalar?", "OptScalar", kEntryPointsOnly),
    type<kind::Scalars>("Scalar[]", "Scalars", kEntryPointsOnly),
    type<kind::Int>("int", "Int"),
    attribute("int?"),
    type<PlainKind<int8_t>>("int8", "Int8", kEntryPointsOnly),
    type<PlainKind<int16_t>>("int16", "Int16", kEntryPointsOnly),
    type<PlainKind<int32_t>>("int32", "Int32", kEntryPointsOnly),
    type<PlainKind<uint64_t>>("uint64", "UInt64", kEntryPointsOnly),
    type<kind::Ints>("int[]", "Ints"),
    type<kind::OptInts>("int[]?", "OptInts"),
    type<kind::Double>("float", "Double"),
    attribute("float?"),
    type<kind::Float>("float32", "Float", kEntryPointsOnly),
    type<Floats>("float[]", "Floats"),
    type<OptFloats>("float[]?", "OptFloats"),
    type<kind::Bool>("bool", "Bool"),
    attribute("bool?"),
    type<kind::Bools>("bool[]", "Bools"),
    type<kind::OptBools>("bool[]?", "OptBools"),
    type<Text>("str", "Text"),
    type<OptText>("str?", "OptText"),
    type<DataType>("ScalarType", "DataType"),
    attribute("ScalarType?"),
};

bool fits(const SignatureType& type, bool by_name) {
    return by_name ? type.is_by_name_too : type.kind != nullptr;
}

std::string known_types(bool by_name) {
    std::string all;
    for (const SignatureType& type : kSignatureTypes)
        if (fits(type, by_name)) all += (all.empty() ? "" : ", ") + std::string(type.text);
    return all;
}

[[noreturn]] void refuse_signature(const std::string& expected, const std::string& got) {
    refuse(ACL_ERROR_INVALID_PARAM, "signature", expected, '"' + got + '"');
}

std::string trimmed(const std::string& text) {
    constexpr const char* kSpace = " \t\n";
    const size_t first = text.find_first_not_of(kSpace);
    return first == std::string::npos ? std::string() : text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

// "(Tensor self, Tensor(a!) out) -> ()" is what torch calls a schema: the part between the outer parentheses.
std::string parameters_of(const std::string& signature) {
    static const std::regex kSchema(R"(\(([^]*)\)\s*->\s*\(\s*\))");
    std::smatch match;
    return std::regex_match(signature, match, kSchema) ? match[1].str() : signature;
}

SignatureParameter parse_parameter(const std::string& text, bool by_name) {
    static const std::regex kParameter(R"(([^=]*\S)\s+([A-Za-z_]\w*))");
    static const std::regex kAlias(R"(\([a-z]!\))"), kLength(R"(\[[0-9]*\])");
    std::smatch match;
    if (!std::regex_match(text, match, kParameter)) refuse_signature("a type, a space and a name, without a default value", text);
    const std::string normal = std::regex_replace(std::regex_replace(match[1].str(), kAlias, "(a!)"), kLength, "[]");
    const auto type = std::find_if(std::begin(kSignatureTypes), std::end(kSignatureTypes),
                                   [&](const SignatureType& one) { return one.text == normal && fits(one, by_name); });
    if (type == std::end(kSignatureTypes)) refuse_signature("a type of " + known_types(by_name), text);
    return {match[2].str(), &*type};
}

}  // namespace

std::vector<SignatureParameter> parse_signature(const std::string& signature, bool by_name) {
    std::vector<SignatureParameter> parameters;
    std::string rest = trimmed(parameters_of(trimmed(signature)));
    while (!rest.empty()) {
        const size_t comma = rest.find(',');
        const SignatureParameter parameter = parse_parameter(trimmed(rest.substr(0, comma)), by_name);
        for (const SignatureParameter& other : parameters)
            if (other.name == parameter.name) refuse_signature("different names", signature);
        parameters.push_back(parameter);
        if (comma == std::string::npos) break;
        rest = trimmed(rest.substr(comma + 1));
        if (rest.empty()) refuse_signature("a parameter behind each comma", signature);
    }
    if (std::none_of(parameters.begin(), parameters.end(), [](const SignatureParameter& one) { return one.type->is_written; }))
        refuse_signature("a parameter that is written, as Tensor(a!) out", signature);
    return parameters;
}

}  // namespace torch_aclnn::host::aten
