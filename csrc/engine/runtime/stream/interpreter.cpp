#include "engine/runtime/stream/interpreter.h"

#include <dlfcn.h>

namespace torch_aclnn::host {
namespace {

template <class Function>
Function* find(const char* name) {
    return reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
}

struct Interpreter {
    int (*is_initialized)() = find<int()>("Py_IsInitialized");
    void* (*this_thread)() = find<void*()>("PyGILState_GetThisThreadState");
    int (*has_lock)() = find<int()>("PyGILState_Check");
    void* (*give_up)() = find<void*()>("PyEval_SaveThread");
    void (*take)(void*) = find<void(void*)>("PyEval_RestoreThread");

    bool is_complete() const {
        return is_initialized != nullptr && this_thread != nullptr && has_lock != nullptr && give_up != nullptr && take != nullptr;
    }
    // Python is asked in this order, because what it says of a thread counts only in a process with an interpreter.
    bool has_lock_here() const { return is_complete() && is_initialized() != 0 && this_thread() != nullptr && has_lock() != 0; }
};

const Interpreter& interpreter() {
    static const Interpreter found;
    return found;
}

}  // namespace

WithoutInterpreter::WithoutInterpreter() noexcept : thread_state_(interpreter().has_lock_here() ? interpreter().give_up() : nullptr) {}

WithoutInterpreter::~WithoutInterpreter() {
    if (thread_state_ != nullptr) interpreter().take(thread_state_);
}

}  // namespace torch_aclnn::host
