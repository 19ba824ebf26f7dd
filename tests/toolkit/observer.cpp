// A vendor library with the functions that torch_npu calls around the two phases of an entry point where an operator library has them. It
// prints each call with the thread it comes on: "main" is the one that loaded the library.

#include <pthread.h>

#include <cstdio>

const pthread_t loader = pthread_self();

static void tell(const char* function) {
    std::printf("%s on %s\n", function, pthread_equal(pthread_self(), loader) ? "main" : "another thread");
    std::fflush(stdout);
}

extern "C" int InitHugeMemThreadLocal(void*, bool) {
    tell("InitHugeMemThreadLocal");
    return 0;
}
extern "C" void UnInitHugeMemThreadLocal(void*, bool) {
    tell("UnInitHugeMemThreadLocal");
}
extern "C" void ReleaseHugeMem(void*, bool) {
    tell("ReleaseHugeMem");
}
extern "C" void UnInitPTACacheThreadLocal() {
    tell("UnInitPTACacheThreadLocal");
}
