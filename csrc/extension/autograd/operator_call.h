// Calls of the package's own operators through the dispatcher, so that they are recorded where a graph is wanted.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>

namespace torch_aclnn {

// `name` is that with the namespace; the C++ type is that of the kernels. To be looked up once, and kept.
template <class Signature>
c10::TypedOperatorHandle<Signature> find_operator_of_package(const char* name, const char* overload = "") {
    return c10::Dispatcher::singleton().findSchemaOrThrow(name, overload).typed<Signature>();
}

}  // namespace torch_aclnn
