// TORCH_ACLNN_HOST_TRACE: one line per call of interest, "seconds thread text".

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>

#include "engine/runtime/engine.h"

namespace torch_aclnn::host {
namespace {

using Clock = std::chrono::steady_clock;

std::FILE* open_trace() {
    const std::string& target = config().trace;
    if (target.empty()) return nullptr;
    if (target == "stderr") return stderr;
    const int descriptor = open(target.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    std::FILE* file = descriptor >= 0 ? fdopen(descriptor, "a") : nullptr;
    if (file == nullptr) {
        std::fprintf(stderr, "torch_aclnn: TORCH_ACLNN_HOST_TRACE: cannot write to \"%s\"; there will be no trace\n", target.c_str());
        return nullptr;
    }
    std::setvbuf(file, nullptr, _IOLBF, 1 << 16);  // whole lines, also when the process is killed
    return file;
}

// Never closed: calls still come while the process exits.
std::FILE* trace_file() noexcept {
    static std::FILE* const file = open_trace();
    return file;
}

double seconds_since_start() {
    static const Clock::time_point start = Clock::now();
    return std::chrono::duration<double>(Clock::now() - start).count();
}

}  // namespace

bool tracing() noexcept {
    return trace_file() != nullptr;
}

void trace(std::string_view line) noexcept {
    std::FILE* file = trace_file();
    if (file == nullptr) return;
    std::fprintf(file, "%.6f %ld %.*s\n", seconds_since_start(), static_cast<long>(syscall(SYS_gettid)), static_cast<int>(line.size()),
                 line.data());
}

}  // namespace torch_aclnn::host
