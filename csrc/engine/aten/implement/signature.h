// The signature of an implementation: the parameters of its entry point's first phase, in torch's words for types.
#pragma once

#include <string>
#include <vector>

#include "engine/aten/adapter/adapter.h"
#include "engine/aten/implement/values.h"

namespace torch_aclnn::host::aten {

// A type of a parameter. An entry point has those with a kind; an operator that is called by name has those with an attribute or tensors.
struct SignatureType {
    const char* text;
    const char* kind_name;   // as in torchAclnnParameter; null where no entry point has the type
    const ErasedKind* kind;  // how the engine reads it
    void (*show)(const void* value, ShownValue& shown);
    bool nullable;
    bool is_floating;  // a register of floating point has it
    bool is_written;   // a result
    bool is_by_name_too;
};

struct SignatureParameter {
    std::string name;
    const SignatureType* type;
};

// 100000 for what is no signature, with what is expected.
std::vector<SignatureParameter> parse_signature(const std::string& signature, bool by_name);

}  // namespace torch_aclnn::host::aten
