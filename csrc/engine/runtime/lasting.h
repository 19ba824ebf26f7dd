// Objects of the process that are made at their first use and never destroyed: calls still come while the process exits.
#pragma once

namespace torch_aclnn::host {

template <class T, auto... arguments>
T& lasting() {
    static auto* const once = new T(arguments...);
    return *once;
}

}  // namespace torch_aclnn::host
