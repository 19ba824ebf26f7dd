#include "engine/runtime/diagnostics/findings.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <set>

#include "acl/acl.h"
#include "engine/runtime/diagnostics/call_stack.h"
#include "engine/runtime/error/last_error.h"

namespace torch_aclnn::host {

constexpr int kSynchronizeTimeout = 107020;

static const char* findings_file() noexcept {
    static const char* const once = [] {
        const char* const name = std::getenv("TORCH_ACLNN_HOST_FINDINGS");
        return name != nullptr && *name != '\0' ? ::strdup(name) : nullptr;
    }();
    return once;
}

// Programs try for as much memory as there is, and wait with timeouts, so these codes are no errors of the program.
static bool is_an_answer(int code) {
    return code == ACL_ERROR_RT_MEMORY_ALLOCATION || code == ACL_ERROR_RT_REPORT_TIMEOUT || code == kSynchronizeTimeout;
}

static std::atomic<bool> an_error_was_found{false};

// A program may drop the code of a call without looking at it. Python gets an exception of it, and decides itself what that means.
static void report_code(int code, const char* message) noexcept {
    static auto* const mutex = new std::mutex;
    static auto* const reported = new std::set<std::string>;
    if (is_an_answer(code) || runs_python()) return;
    try {
        {
            const std::lock_guard<std::mutex> lock(*mutex);
            if (!reported->insert(message).second) return;
        }
        std::fprintf(stderr, "torch_aclnn: a call returned %d: %s, called from\n", code, message);
        CallStack::here().print(STDERR_FILENO);
        add_finding("call that returned an error");
        an_error_was_found = true;
    } catch (...) {
        // A finding that cannot be recorded is no reason to fail the call.
    }
}

const bool codes_are_reported = (collecting_findings() ? code_listener = report_code : nullptr, true);

bool collecting_findings() noexcept {
    return findings_file() != nullptr;
}

bool found_an_error() noexcept {
    return an_error_was_found;
}

void add_finding(const char* kind) noexcept {
    if (!collecting_findings()) return;
    const int file = open(findings_file(), O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (file < 0) return;
    write_all(file, kind, std::strlen(kind));
    write_all(file, "\n", 1);
    close(file);
}

}  // namespace torch_aclnn::host
