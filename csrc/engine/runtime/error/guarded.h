// How every C function of the engine is written: a body that may throw, in guarded().
#pragma once

#include <cxxabi.h>

#include "engine/runtime/error/error.h"
#include "engine/runtime/text.h"

namespace torch_aclnn::host {

// The codes for exceptions that carry none.
struct FallbackCodes {
    int out_of_memory = ACL_ERROR_BAD_ALLOC;
    int other = ACL_ERROR_INTERNAL_ERROR;
};

// To be called in a catch clause: leaves the message "<function>: <what was thrown>" on the calling thread and returns the code. Allocates
// nothing.
TORCH_ACLNN_HOST_API int report_exception(const char* function, FallbackCodes codes) noexcept;

// Runs the body of a C function, across which no exception may go: what it throws becomes a code, and a message of the calling thread. The
// end of a thread (pthread_exit), as Python ends those that wait for its lock while it exits, goes on.
int guarded(const char* function, auto&& body, FallbackCodes codes = {}) {
    try {
        body();
        return ACL_SUCCESS;
    } catch (const abi::__forced_unwind&) {
        throw;
    } catch (...) {
        return report_exception(function, codes);
    }
}

// 100000 unless the pointer is given; for the parameters of the runtime's functions.
inline void require_pointer(const char* parameter, const void* pointer) {
    if (pointer == nullptr) refuse(ACL_ERROR_INVALID_PARAM, parameter, "a value", "null");
}

// Runs the body of a C function that has one result: writes what `read` returns to the caller's `place`.
template <class Function, class Result, class Read>
int write_result(Function function, const char* parameter, Result* place, Read&& read) {
    return guarded(function, [&] {
        require_pointer(parameter, place);
        *place = static_cast<Result>(read());
    });
}

}  // namespace torch_aclnn::host
