#include "kernels/support/parallel.h"

#include <pthread.h>

#include <atomic>

namespace torch_aclnn::kernels {

static std::atomic<bool> is_child{false};
const int registered = pthread_atfork(nullptr, nullptr, [] { is_child = true; });

bool forked() {
    return registered == 0 && is_child;
}

}  // namespace torch_aclnn::kernels
