#include "engine/opapi/kept_arguments.h"

namespace torch_aclnn::host {
namespace {

template <class Handle>
std::unique_ptr<Handle, MemberDeleter<Handle>> handle_of(const Handle& other) {
    return std::unique_ptr<Handle, MemberDeleter<Handle>>(new Handle(other));
}

template <class List>
std::shared_ptr<List> list_of(const List& other) {
    std::unique_ptr<List, MemberDeleter<List>> list(new List);
    for (const auto& member : other.members) list->members.push_back(handle_of(*member));
    return list;
}

}  // namespace

std::shared_ptr<aclTensor> copy_of(const aclTensor& tensor) {
    return handle_of(tensor);
}
std::shared_ptr<aclTensorList> copy_of(const aclTensorList& list) {
    return list_of(list);
}
std::shared_ptr<aclScalar> copy_of(const aclScalar& scalar) {
    return handle_of(scalar);
}
std::shared_ptr<aclScalarList> copy_of(const aclScalarList& list) {
    return list_of(list);
}
std::shared_ptr<aclIntArray> copy_of(const aclIntArray& array) {
    return handle_of(array);
}
std::shared_ptr<aclFloatArray> copy_of(const aclFloatArray& array) {
    return handle_of(array);
}
std::shared_ptr<aclBoolArray> copy_of(const aclBoolArray& array) {
    return handle_of(array);
}

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
