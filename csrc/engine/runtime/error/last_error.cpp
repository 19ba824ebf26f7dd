// What went wrong last, per thread: the message of aclGetRecentErrMsg and the code of aclrtPeekAtLastError.

#include <cstdio>
#include <cstring>
#include <new>

#include "engine/runtime/error/code_table.h"
#include "engine/runtime/error/guarded.h"
#include "engine/runtime/error/last_error.h"
#include "engine/runtime/text.h"

namespace torch_aclnn::host {

std::atomic<void (*)(const char* message)> error_listener{nullptr};
std::atomic<void (*)(int code, const char* message)> code_listener{nullptr};
namespace {

// These are plain arrays, because torch_npu still calls in while the process exits, when a thread's objects with destructors are gone.
struct LastError {
    char message[2048];
    char returned_message[2048];
    aclError runtime_code;
};
thread_local LastError last_error;

// The layers above, aclnn and HCCL, have codes of their own. torch_npu asks for the runtime's last error first and would report that one
// instead of theirs, so their errors leave no runtime error behind.
bool belongs_to_another_layer(int code) {
    const int family = code / 1000;
    return family == 0 || family == 161 || family == 361 || family == 561;
}

// A message may quote what the caller passed, and be cut off within a character: Python takes UTF-8 only.
void keep_characters(char* message) {
    const std::string_view text(message);
    for (size_t i = 0; i < text.size();) {
        const size_t length = utf8_length(text.substr(i));
        if (length == 0) message[i] = '?';
        i += length == 0 ? 1 : length;
    }
}

int record(const char* function, int code, const char* message) noexcept {
    LastError& last = last_error;
    if (find_code(code) != nullptr) {
        std::snprintf(last.message, sizeof last.message, "%s: %s", function, message);
    } else {  // a code that is not in the table must not leave the engine
        std::snprintf(last.message, sizeof last.message, "%s: %s (%d, which is no code of the engine)", function, message, code);
        code = ACL_ERROR_INTERNAL_ERROR;
    }
    keep_characters(last.message);
    last.runtime_code = belongs_to_another_layer(code) ? ACL_SUCCESS : code;
    if (const auto listener = error_listener.load(std::memory_order_relaxed)) listener(last.message);
    if (const auto listener = code_listener.load(std::memory_order_relaxed)) listener(code, last.message);
    return code;
}

}  // namespace

void refuse(int code, const std::string& parameter, const std::string& expected, const std::string& got) {
    throw Error(code, parameter + ": expected " + expected + ", got " + got);
}

const char* recent_message() noexcept {
    return last_error.message;
}

int report_exception(const char* function, FallbackCodes codes) noexcept {
    constexpr char kOutOfMemory[] = "out of host memory";
    try {
        throw;
    } catch (const Error& error) {
        const int code = record(error.function() != nullptr ? error.function() : function, error.code(), error.what());
        if (error.last_error() != 0) last_error.runtime_code = error.last_error();
        return code;
    } catch (const std::bad_alloc&) {
        return record(function, codes.out_of_memory, kOutOfMemory);
    } catch (const std::length_error&) {  // a container's size beyond any memory
        return record(function, codes.out_of_memory, kOutOfMemory);
    } catch (const std::exception& error) {
        return record(function, codes.other, error.what());
    } catch (...) {
        return record(function, codes.other, "unknown exception");
    }
}

}  // namespace torch_aclnn::host

using torch_aclnn::host::last_error;

// The text stays readable until the thread asks again.
extern "C" const char* aclGetRecentErrMsg(void) {
    std::memcpy(last_error.returned_message, last_error.message, sizeof last_error.message);
    last_error.message[0] = '\0';
    return last_error.returned_message;
}

// The level (thread or context) makes no difference: errors are kept per thread.
extern "C" TORCH_ACLNN_HOST_API aclError aclrtPeekAtLastError(aclrtLastErrLevel) {
    return last_error.runtime_code;
}

extern "C" TORCH_ACLNN_HOST_API aclError aclrtGetLastError(aclrtLastErrLevel) {
    const aclError code = last_error.runtime_code;
    last_error.runtime_code = ACL_SUCCESS;
    return code;
}
