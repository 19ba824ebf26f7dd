#include "engine/opapi/arguments.h"

namespace torch_aclnn::host {

void require_arguments(std::initializer_list<Named> tensors, std::initializer_list<NamedPointer<aclIntArray>> arrays) {
    for (const Named& tensor : tensors) require_not_null(tensor.name, tensor.tensor);
    for (const auto& array : arrays) require_not_null(array.name, array.handle);
    for (const Named& tensor : tensors) require_live(tensor.name, tensor.tensor);
    for (const auto& array : arrays) require_live(array.name, array.handle);
}

}  // namespace torch_aclnn::host
