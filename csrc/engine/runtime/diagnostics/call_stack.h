// Who called: the functions of the libraries, and of Python where it runs.
#pragma once

#include <array>
#include <memory>
#include <string>

#include "engine/runtime/visibility.h"

namespace torch_aclnn::host {

class TORCH_ACLNN_HOST_API CallStack {
   public:
    // That of the calling thread.
    static CallStack here();
    // The calling thread's stack with TORCH_ACLNN_HOST_MODE=leaks, else an empty one.
    static CallStack for_leaks();
    // The calling thread's stack with TORCH_ACLNN_HOST_MODE=check_streams, else null. It has the lines of Python alone where there are any.
    static std::shared_ptr<const CallStack> for_streams();

    // Prints the stack without the engine's own functions in front, and with the lines of C++ where addr2line is installed. Prints nothing
    // for a stack that was never taken. May be called in a signal handler.
    void print(int file) const noexcept;

    bool empty() const noexcept { return frame_count_ == 0; }
    // Whether the function that called the engine is of a library of that file name.
    bool begins_in(const char* library) const noexcept;
    bool operator==(const CallStack& other) const noexcept;

   private:
    static constexpr int kMaxFrames = 24;
    std::array<void*, kMaxFrames> frames_;
    int frame_count_ = 0;
    std::string python_;
};

// The innermost first, which is where it returns to, or where it was interrupted. Without libc's.
void print_frames(int file, void* const* frames, int count, bool interrupted = false) noexcept;

// The number of functions in front that are the engine's own.
int engine_frames(void* const* frames, int count) noexcept;

// The calling thread's stack in Python, if it has one. Callable within a signal handler.
void print_python_stack(int file) noexcept;

// The same as text, its innermost functions; empty if the thread has none.
std::string python_stack();

// Whether the process is one of Python.
bool runs_python() noexcept;

// write(), until all is written or it fails. Callable within a signal handler.
void write_all(int file, const char* text, size_t size) noexcept;

}  // namespace torch_aclnn::host
