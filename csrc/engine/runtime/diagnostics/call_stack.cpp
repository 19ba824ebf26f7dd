#include "engine/runtime/diagnostics/call_stack.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <mutex>

#include "engine/runtime/config/config.h"
#include "engine/runtime/diagnostics/signal_text.h"

namespace torch_aclnn::host {
namespace {

// The bytes of text that are kept of the innermost functions of Python.
constexpr size_t kMaxPythonText = 1500;
// The number exceeds the functions that a stack of a program has.
constexpr size_t kMaxLines = 32;
constexpr int kNotFound = 127;

// The functions that Python's own report of a crash is made of: they read the calling thread's frames without a lock and allocate nothing.
struct Python {
    void* (*this_thread)() = reinterpret_cast<void* (*)()>(dlsym(RTLD_DEFAULT, "PyGILState_GetThisThreadState"));
    void (*dump)(int, void*) = reinterpret_cast<void (*)(int, void*)>(dlsym(RTLD_DEFAULT, "_Py_DumpTraceback"));
    int (*is_initialized)() = reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, "Py_IsInitialized"));

    bool runs() const { return is_initialized != nullptr && is_initialized() != 0; }
    void* thread() const { return this_thread != nullptr && dump != nullptr && runs() ? this_thread() : nullptr; }
};

// The first stack that is taken looks them up, because a signal handler must not.
const Python& python() {
    static const Python found;
    return found;
}

// Python writes into a file only, so this is a file that is held in memory.
class Scratch {
   public:
    Scratch() : file_(memfd_create("torch_aclnn", MFD_CLOEXEC)) {}

    std::string read_python_stack() {
        const std::lock_guard<std::mutex> lock(mutex_);
        if (file_ < 0 || ftruncate(file_, 0) != 0 || lseek(file_, 0, SEEK_SET) != 0) return {};
        print_python_stack(file_);
        std::string text(kMaxPythonText, '\0');
        const ssize_t size = pread(file_, text.data(), text.size(), 0);
        text.resize(size > 0 ? static_cast<size_t>(size) : 0);
        text.resize(text.rfind('\n') == std::string::npos ? 0 : text.rfind('\n') + 1);
        return text;
    }

   private:
    std::mutex mutex_;
    const int file_;
};

const char* file_name(const Dl_info& found) {
    const char* const slash = std::strrchr(found.dli_fname, '/');
    return slash == nullptr ? found.dli_fname : slash + 1;
}

// The engine's libraries are in one folder.
bool is_engines(const void* frame) noexcept {
    static const Dl_info own = [] {
        Dl_info found{};
        (void)dladdr(reinterpret_cast<const void*>(&write_all), &found);
        return found;
    }();
    Dl_info found{};
    if (own.dli_fname == nullptr || dladdr(frame, &found) == 0 || found.dli_fname == nullptr) return false;
    const auto folder = file_name(own) - own.dli_fname;
    return file_name(found) - found.dli_fname == folder && std::strncmp(file_name(found), "lib", 3) == 0 &&
           std::strncmp(found.dli_fname, own.dli_fname, static_cast<size_t>(folder)) == 0;
}

bool is_libcs(const void* frame) noexcept {
    Dl_info found{};
    return dladdr(frame, &found) != 0 && found.dli_fname != nullptr && std::strncmp(file_name(found), "libc.so", 7) == 0;
}

// Returns where a function is in the program's own file; 0 if it is elsewhere. What a function returns to is behind its call, perhaps of
// the next line.
uintptr_t address_in_program(const void* frame, bool interrupted, Dl_info& found) noexcept {
    link_map* map = nullptr;
    const bool is_known = dladdr1(frame, &found, reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP) != 0 && map != nullptr;
    if (!is_known || found.dli_fname == nullptr || map->l_name == nullptr || map->l_name[0] != '\0') return 0;
    return reinterpret_cast<uintptr_t>(frame) - map->l_addr - (interrupted ? 0 : 1);
}

// Runs a program that writes into the file; false if no program has the name. vfork() and what the child calls are safe in a signal
// handler.
bool run(int file, char* const* command) noexcept {
    const pid_t child = vfork();
    if (child == 0) {
        char* const no_environment[] = {nullptr};
        dup2(file, STDOUT_FILENO);
        (void)execvpe(command[0], command, no_environment);
        _exit(kNotFound);
    }
    int status = 0;
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
    return child > 0 && (!WIFEXITED(status) || WEXITSTATUS(status) != kNotFound);
}

// Has addr2line print the lines of the program's functions, or prints its command for a machine that has it.
void print_lines(int file, void* const* frames, int count, bool interrupted) noexcept {
    std::array<std::array<char, 24>, kMaxLines> addresses;
    char name[] = "addr2line", options[] = "-Cfpe";
    std::array<char*, kMaxLines + 4> command{name, options};
    size_t lines = 0;
    for (int i = 0; i < count && lines < kMaxLines; ++i) {
        Dl_info found{};
        const uintptr_t address = address_in_program(frames[i], interrupted && i == 0, found);
        if (address == 0) continue;
        command[2] = const_cast<char*>(found.dli_fname);
        command[3 + lines] = addresses[lines].data();
        SignalText().add_address(address).copy_to(addresses[lines]);
        ++lines;
    }
    if (lines == 0 || run(file, command.data())) return;
    SignalText text(file);
    text.add("torch_aclnn: the lines:");
    for (char* const* word = command.data(); *word != nullptr; ++word) text.add(" ").add(*word);
    text.add("\n").flush();
}

}  // namespace

CallStack CallStack::here() {
    CallStack stack;
    stack.frame_count_ = backtrace(stack.frames_.data(), kMaxFrames);
    stack.python_ = python_stack();
    (void)is_engines(nullptr);  // a signal handler must not be the first to ask where the engine is
    return stack;
}

CallStack CallStack::for_leaks() {
    return config().list_leaks ? here() : CallStack();
}

std::shared_ptr<const CallStack> CallStack::for_streams() {
    if (!config().check_streams) return nullptr;
    auto stack = std::make_shared<CallStack>(here());
    if (!stack->python_.empty()) stack->frame_count_ = 0;  // below are torch's and Python's own functions
    return stack;
}

void CallStack::print(int file) const noexcept {
    write_all(file, python_.data(), python_.size());
    const int own = engine_frames(frames_.data(), frame_count_);
    print_frames(file, frames_.data() + own, frame_count_ - own);
}

bool CallStack::begins_in(const char* library) const noexcept {
    const int own = engine_frames(frames_.data(), frame_count_);
    Dl_info found{};
    if (own == frame_count_ || dladdr(frames_[static_cast<size_t>(own)], &found) == 0 || found.dli_fname == nullptr) return false;
    return std::strcmp(file_name(found), library) == 0;
}

bool CallStack::operator==(const CallStack& other) const noexcept {
    const auto begin = frames_.begin();
    return frame_count_ == other.frame_count_ && python_ == other.python_ && std::equal(begin, begin + frame_count_, other.frames_.begin());
}

void print_frames(int file, void* const* frames, int count, bool interrupted) noexcept {
    if (count > 1 && is_libcs(frames[count - 2])) --count;  // the last function starts a program, before libc calls main()
    for (int i = 0; i < count; ++i)
        if (!is_libcs(frames[i])) backtrace_symbols_fd(frames + i, 1, file);
    if (!runs_python()) print_lines(file, frames, count, interrupted);
}

int engine_frames(void* const* frames, int count) noexcept {
    return static_cast<int>(std::find_if_not(frames, frames + count, is_engines) - frames);
}

std::string python_stack() {
    static auto* const scratch = new Scratch;  // never destroyed: memory is still freed while the process exits
    return python().thread() == nullptr ? std::string() : scratch->read_python_stack();
}

bool runs_python() noexcept {
    return python().runs();
}

void print_python_stack(int file) noexcept {
    if (void* const thread = python().thread()) python().dump(file, thread);
}

void write_all(int file, const char* text, size_t size) noexcept {
    while (size > 0) {
        const ssize_t written = ::write(file, text, size);
        if (written <= 0) return;
        text += written;
        size -= static_cast<size_t>(written);
    }
}

}  // namespace torch_aclnn::host
