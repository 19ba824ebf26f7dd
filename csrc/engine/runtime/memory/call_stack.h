// Who called: the functions of the libraries, and of Python where it runs.
#pragma once

#include <array>
#include <string>

namespace torch_aclnn::host {

class CallStack {
   public:
    // That of the calling thread.
    static CallStack here();

    // Writes nothing for one that was never taken. Callable within a signal handler.
    void print(int file) const noexcept;

   private:
    static constexpr int kMaxFrames = 16;
    std::array<void*, kMaxFrames> frames_;
    int frame_count_ = 0;
    std::string python_;
};

// The calling thread's stack in Python, if it has one. Callable within a signal handler.
void print_python_stack(int file) noexcept;

// write(), until all is written or it fails. Callable within a signal handler.
void write_all(int file, const char* text, size_t size) noexcept;

}  // namespace torch_aclnn::host
