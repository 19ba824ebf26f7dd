// Python's interpreter, where the process has one.
#pragma once

namespace torch_aclnn::host {

// Gives up the interpreter's lock, if the calling thread has it, for as long as this lives: the thread is about to wait for work that may
// be a Python function on another thread.
class WithoutInterpreter {
   public:
    WithoutInterpreter() noexcept;
    ~WithoutInterpreter();
    WithoutInterpreter(const WithoutInterpreter&) = delete;
    WithoutInterpreter& operator=(const WithoutInterpreter&) = delete;

   private:
    void* const thread_state_;
};

}  // namespace torch_aclnn::host
