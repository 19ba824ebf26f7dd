// How every public C function of the runtime is written: a body that may throw, a sentence for every refusal, a line in the trace.
#pragma once

#include <new>
#include <sstream>
#include <string>

#include "engine/runtime/engine.h"

namespace torch_aclnn::host {

// Joins the pieces of a sentence.
template <class... Pieces>
std::string text(const Pieces&... pieces) {
    std::ostringstream out;
    (out << ... << pieces);
    return out.str();
}

// Like fail(), for a place where building a string may itself run out of memory.
aclError fail_without_memory(const char* function, aclError code, const char* what) noexcept;

inline aclError fail_null(const char* function, const char* parameter) {
    return fail(ACL_ERROR_INVALID_PARAM, text(function, ": ", parameter, " must not be null"));
}

// Runs the body of a C function, which gets the function's name for its sentences: no exception may cross the C ABI.
template <class Body>
aclError guarded(const char* function, Body&& body) noexcept {
    try {
        return body(function);
    } catch (const TaskError& error) {
        return fail_without_memory(function, error.code(), error.what());
    } catch (const std::bad_alloc&) {
        return fail_without_memory(function, ACL_ERROR_BAD_ALLOC, "the machine has no memory left for the engine's own records");
    } catch (const std::exception& error) {
        return fail_without_memory(function, ACL_ERROR_INTERNAL_ERROR, error.what());
    } catch (...) {
        return fail_without_memory(function, ACL_ERROR_INTERNAL_ERROR, "unknown exception");
    }
}

// guarded(), and one line in the trace: "function(arguments) = code". The arguments are only formatted when there is a trace.
template <class Body, class Arguments>
aclError traced(const char* function, Body&& body, Arguments&& arguments) noexcept {
    const aclError code = guarded(function, body);
    if (tracing()) {
        try {
            trace(text(function, "(", arguments(), ") = ", code));
        } catch (...) {
            // A line that cannot be formatted is not worth a failure.
        }
    }
    return code;
}

}  // namespace torch_aclnn::host
