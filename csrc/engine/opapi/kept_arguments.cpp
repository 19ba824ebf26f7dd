#include "engine/opapi/kept_arguments.h"

namespace torch_aclnn::host {

std::vector<aclTensor*> KeptArguments::tensors() const {
    std::vector<aclTensor*> tensors;
    for (const KeptArgument& argument : arguments_) argument.add_tensors(tensors);
    return tensors;
}

std::vector<const void*> KeptArguments::addresses() const {
    std::vector<const void*> addresses;
    for (const KeptArgument& argument : arguments_) addresses.push_back(argument.address());
    return addresses;
}

KeptArguments KeptArguments::moved(const std::vector<void*>& data) const {
    KeptArguments moved;
    for (const KeptArgument& argument : arguments_) moved.add(argument.copy());
    const std::vector<aclTensor*> tensors = moved.tensors();
    for (size_t i = 0; i < tensors.size(); ++i) tensors[i]->data = data[i];
    return moved;
}

}  // namespace torch_aclnn::host
