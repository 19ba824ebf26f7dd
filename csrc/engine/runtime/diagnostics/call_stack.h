// Who called: the functions of the libraries, and of Python where it runs.
#pragma once

#include <array>
#include <memory>
#include <string>

#include "engine/runtime/visibility.h"

namespace torch_aclnn::host {

class TORCH_ACLNN_HOST_API CallStack {
   public:
    static CallStack here();
    // The calling thread's stack with TORCH_ACLNN_HOST_MODE=leaks, else an empty one.
    static CallStack for_leaks();
    // The calling thread's stack with TORCH_ACLNN_HOST_MODE=check_streams, else null. It has the lines of Python alone where there are any.
    static std::shared_ptr<const CallStack> for_streams();

    // Prints the stack without the engine's own functions in front, and with the lines of C++ where addr2line is installed. Prints nothing
    // for a stack that was never taken. May be called in a signal handler.
    void print(int file) const noexcept;

    bool empty() const noexcept { return frame_count_ == 0; }
    // Whether the function that called the engine is in a library of that file name.
    bool begins_in(const char* library) const noexcept;
    bool operator==(const CallStack& other) const noexcept;

   private:
    static constexpr int kMaxFrames = 24;
    std::array<void*, kMaxFrames> frames_;
    int frame_count_ = 0;
    std::string python_;
};

// Prints the frames, the innermost first, which is where it returns to, or where it was interrupted, and without libc's.
void print_frames(int file, void* const* frames, int count, bool interrupted = false) noexcept;

// Returns the number of functions in front that are the engine's own.
int engine_frames(void* const* frames, int count) noexcept;

// Prints the calling thread's stack in Python, if it has one. May be called in a signal handler.
void print_python_stack(int file) noexcept;

// Returns the innermost functions of that stack as text; empty if the thread has none.
std::string python_stack();

bool runs_python() noexcept;

// Calls write() until all is written or it fails. May be called in a signal handler.
void write_all(int file, const char* text, size_t size) noexcept;

}  // namespace torch_aclnn::host
