#include "engine/runtime/diagnostics/trace_file.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <string_view>

#include "engine/runtime/config/config.h"
#include "engine/runtime/error/error.h"
#include "engine/runtime/lasting.h"

namespace torch_aclnn::host {
namespace {

struct Target {
    int descriptor;
    dev_t device;
    ino_t inode;

    bool is_standard_error() const { return descriptor == STDERR_FILENO; }
    // The program may have closed descriptors that it does not know, and opened other files under their numbers.
    bool is_ours() const {
        struct stat found{};
        return is_standard_error() || (fstat(descriptor, &found) == 0 && found.st_dev == device && found.st_ino == inode);
    }
};

// The file is never destroyed, because lines still come while the process exits.
struct TraceFile {
    std::mutex opening;
    std::atomic<const Target*> target{nullptr};
    std::string (*first_line)() = nullptr;
};
constexpr auto& trace_file = lasting<TraceFile>;

// Returns the path, with the number of the process in the place of each %p.
std::string path_of_process() {
    std::string path = config().trace;
    const std::string process = std::to_string(getpid());
    for (size_t at = path.find("%p"); at != std::string::npos; at = path.find("%p", at)) path.replace(at, 2, process);
    return path;
}

[[noreturn]] void throw_unwritable(const std::string& path, int error) {
    throw Error(ACL_ERROR_INVALID_PARAM, "TORCH_ACLNN_HOST_TRACE: cannot write to \"" + path + "\": " + std::strerror(error));
}

// Returns 0, or the error's number.
int write_all(int descriptor, std::string_view text) noexcept {
    while (!text.empty()) {
        const ssize_t written = ::write(descriptor, text.data(), text.size());
        if (written < 0 && errno != EINTR) return errno;
        if (written > 0) text.remove_prefix(static_cast<size_t>(written));
    }
    return 0;
}

Target open_target(const std::string& path) {
    if (config().trace == "stderr") return {STDERR_FILENO, 0, 0};
    const int descriptor = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (descriptor < 0) throw_unwritable(path, errno);
    struct stat found{};
    (void)fstat(descriptor, &found);
    return {descriptor, found.st_dev, found.st_ino};
}

// Opens a target in place of `previous`, unless another thread has done so.
const Target* open_again(const Target* previous) {
    TraceFile& file = trace_file();
    const std::lock_guard<std::mutex> lock(file.opening);
    if (const Target* const current = file.target.load(); current != previous) return current;
    const std::string path = path_of_process();
    const Target target = open_target(path);
    if (const int error = write_all(target.descriptor, file.first_line())) {
        if (!target.is_standard_error()) close(target.descriptor);
        throw_unwritable(path, error);
    }
    const auto* const kept = new Target(target);
    file.target.store(kept);
    return kept;
}

// The lock is held over a fork, so that the child finds it free. There the next line opens the child's own file.
void lock_before_fork() {
    trace_file().opening.lock();
}
void after_fork_in_parent() {
    trace_file().opening.unlock();
}
void after_fork_in_child() {
    const Target* const parents = trace_file().target.exchange(nullptr);
    if (parents != nullptr && !parents->is_standard_error() && parents->is_ours()) close(parents->descriptor);
    trace_file().opening.unlock();
}

int write_to_target(const std::string& line) {
    const Target* target = trace_file().target.load();
    if (target == nullptr || !target->is_ours()) target = open_again(target);
    return write_all(target->descriptor, line);
}

}  // namespace

void open_trace_file(std::string (*first_line)()) {
    trace_file().first_line = first_line;
    (void)open_again(nullptr);
    static const int registered = pthread_atfork(lock_before_fork, after_fork_in_parent, after_fork_in_child);
    (void)registered;
}

bool write_trace_line(const std::string& line) noexcept {
    try {
        const int error = write_to_target(line);
        if (error == 0) return true;
        throw_unwritable(path_of_process(), error);
    } catch (const std::exception& error) {
        static std::atomic_flag told = ATOMIC_FLAG_INIT;
        if (!told.test_and_set()) std::fprintf(stderr, "torch_aclnn: %s; the trace ends here\n", error.what());
        return false;
    }
}

}  // namespace torch_aclnn::host
