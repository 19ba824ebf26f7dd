// What went wrong last, per thread: the sentence of aclGetRecentErrMsg and the code of aclrtPeekAtLastError.

#include <cstdio>
#include <cstring>

#include "engine/runtime/error/call.h"

namespace torch_aclnn::host {
namespace {

// Plain arrays: torch_npu still calls in while the process exits, when a thread's objects with destructors are gone.
struct ThreadError {
    char pending[2048];
    char returned[2048];
    aclError runtime_code;
};
thread_local ThreadError thread_error;

// The layer above, aclnn, has codes of its own. torch_npu asks for the runtime's last error first and would report that one
// instead of the operator's, so an operator's refusal leaves no runtime error behind.
bool belongs_to_aclnn(int code) {
    const int family = code / 1000;
    return family == 161 || family == 361 || family == 561;
}

void remember(int code, const char* sentence, size_t length) noexcept {
    ThreadError& error = thread_error;
    length = length < sizeof error.pending ? length : sizeof error.pending - 1;
    std::memcpy(error.pending, sentence, length);
    error.pending[length] = '\0';
    error.runtime_code = belongs_to_aclnn(code) ? ACL_SUCCESS : code;
}

aclError last_error() noexcept {
    return thread_error.runtime_code;
}

aclError take_last_error() noexcept {
    const aclError code = thread_error.runtime_code;
    thread_error.runtime_code = ACL_SUCCESS;
    return code;
}

const char* take_sentence() noexcept {
    ThreadError& error = thread_error;
    std::memcpy(error.returned, error.pending, sizeof error.returned);
    error.pending[0] = '\0';
    return error.returned;
}

}  // namespace

int fail(int code, std::string sentence) noexcept {
    remember(code, sentence.c_str(), sentence.size());
    if (tracing()) trace(sentence);
    return code;
}

aclError fail_without_memory(const char* function, aclError code, const char* what) noexcept {
    char sentence[sizeof thread_error.pending];
    const int length = std::snprintf(sentence, sizeof sentence, "%s: %s", function, what);
    remember(code, sentence, length < 0 ? 0 : static_cast<size_t>(length) < sizeof sentence ? length : sizeof sentence - 1);
    return code;
}

}  // namespace torch_aclnn::host

// The text stays readable until the thread asks again.
extern "C" const char* aclGetRecentErrMsg(void) {
    return torch_aclnn::host::take_sentence();
}

// The level (thread or context) makes no difference: errors are kept per thread.
extern "C" TORCH_ACLNN_HOST_API aclError aclrtPeekAtLastError(int) {
    return torch_aclnn::host::last_error();
}

extern "C" TORCH_ACLNN_HOST_API aclError aclrtGetLastError(int) {
    return torch_aclnn::host::take_last_error();
}
