// A C function of the runtime that fault injection can fail: traced(can_fail(__func__), ...) in the place of traced(__func__, ...).
#pragma once

#include <utility>

#include "engine/runtime/call/traced.h"
#include "engine/runtime/fault/injection.h"

namespace torch_aclnn::host {

struct FaultableFunction {
    const char* name;
};

inline FaultableFunction can_fail(const char* function) {
    return {function};
}

// The fault comes first, so that the function has then done nothing.
auto failing_if_asked(FaultableFunction function, auto& body) {
    return [function, &body] {
        may_fail(function.name);
        body();
    };
}

int guarded(FaultableFunction function, auto&& body) {
    return guarded(function.name, failing_if_asked(function, body));
}

template <class Arguments, class Body>
int traced(FaultableFunction function, Arguments&& arguments, Body&& body) {
    return traced(function.name, std::forward<Arguments>(arguments), failing_if_asked(function, body));
}

}  // namespace torch_aclnn::host
