#include "engine/runtime/memory/call_stack.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <mutex>

namespace torch_aclnn::host {
namespace {

// Innermost functions of Python that are kept, in bytes of text.
constexpr size_t kMaxPythonText = 1500;

// What Python's own report of a crash is made of: it reads the calling thread's frames without a lock and allocates nothing.
struct Python {
    void* (*this_thread)() = reinterpret_cast<void* (*)()>(dlsym(RTLD_DEFAULT, "PyGILState_GetThisThreadState"));
    void (*dump)(int, void*) = reinterpret_cast<void (*)(int, void*)>(dlsym(RTLD_DEFAULT, "_Py_DumpTraceback"));
    int (*is_initialized)() = reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, "Py_IsInitialized"));

    void* thread() const {
        return this_thread != nullptr && dump != nullptr && is_initialized != nullptr && is_initialized() != 0 ? this_thread() : nullptr;
    }
};

// Looked up by the first stack that is taken, for a signal handler must not.
const Python& python() {
    static const Python found;
    return found;
}

// Python writes into a file only: one that is held in memory.
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

}  // namespace

CallStack CallStack::here() {
    static auto* const scratch = new Scratch;  // never destroyed: memory is still freed while the process exits
    CallStack stack;
    stack.frame_count_ = backtrace(stack.frames_.data(), kMaxFrames);
    if (python().thread() != nullptr) stack.python_ = scratch->read_python_stack();
    return stack;
}

void CallStack::print(int file) const noexcept {
    write_all(file, python_.data(), python_.size());
    if (frame_count_ > 1) backtrace_symbols_fd(frames_.data() + 1, frame_count_ - 1, file);
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
