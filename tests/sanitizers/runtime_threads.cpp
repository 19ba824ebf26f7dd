// Threads that share streams, events and the allocator, for ThreadSanitizer and AddressSanitizer. `runtime_threads <rounds>`.
#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include "check.h"

namespace {

constexpr int kThreads = 4, kSharedStreams = 2;
constexpr size_t kBytes = 4096;

struct Shared {
    aclrtStream streams[kSharedStreams] = {};
    aclrtEvent events[kThreads] = {};
    std::atomic<int> called{0};
};

void count(void* shared) {
    ++static_cast<Shared*>(shared)->called;
}

// Work of the thread's own on a shared stream, waited for by an event on the thread's own stream, and read back.
void use_both(Shared& shared, int thread, int round, aclrtStream own) {
    const aclrtStream stream = shared.streams[(thread + round) % kSharedStreams];
    void *memory = nullptr, *copy = nullptr;
    OK(aclrtMalloc(&memory, kBytes, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtMalloc(&copy, kBytes, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtMemsetAsync(memory, kBytes, thread + 1, kBytes, stream));
    OK(aclrtLaunchHostFunc(stream, count, &shared));
    OK(aclrtRecordEvent(shared.events[thread], stream));
    OK(aclrtStreamWaitEvent(own, shared.events[thread]));
    OK(aclrtMemcpyAsync(copy, kBytes, memory, kBytes, ACL_MEMCPY_DEVICE_TO_DEVICE, own));
    aclrtEventRecordedStatus status;
    OK(aclrtQueryEventStatus(shared.events[thread], &status));
    OK(aclrtSynchronizeStreamWithTimeout(own, 60000));
    unsigned char read[kBytes];
    OK(aclrtMemcpy(read, kBytes, copy, kBytes, ACL_MEMCPY_DEVICE_TO_HOST));
    for (const unsigned char byte : read) CHECK(byte == thread + 1);
    OK(aclrtFree(memory));
    OK(aclrtFree(copy));
}

// Streams and events that come and go, one with work that nobody waited for.
void make_and_destroy(int thread) {
    aclrtStream stream = nullptr, waiting = nullptr;
    aclrtEvent begin = nullptr, end = nullptr;
    void* memory = nullptr;
    OK(aclrtCreateStream(&stream));
    OK(aclrtCreateStreamWithConfig(&waiting, 0, ACL_STREAM_FAST_LAUNCH));
    OK(aclrtCreateEventWithFlag(&begin, ACL_EVENT_TIME_LINE));
    OK(aclrtCreateEventWithFlag(&end, ACL_EVENT_TIME_LINE));
    OK(aclrtMalloc(&memory, kBytes, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtRecordEvent(begin, stream));
    OK(aclrtMemsetAsync(memory, kBytes, thread, kBytes, stream));
    OK(aclrtRecordEvent(end, stream));
    OK(aclrtStreamWaitEvent(waiting, end));
    OK(aclrtMemsetAsync(memory, kBytes, thread + 1, kBytes, waiting));
    OK(aclrtSynchronizeEvent(end));
    float milliseconds = -1;
    OK(aclrtEventElapsedTime(&milliseconds, begin, end));
    CHECK(milliseconds >= 0);
    OK(aclrtDestroyEvent(begin));
    OK(aclrtDestroyEvent(end));
    OK(aclrtDestroyStream(waiting));
    OK(aclrtDestroyStreamForce(stream));
    CHECK(aclrtSynchronizeStream(stream) != ACL_SUCCESS);
    OK(aclrtFree(memory));
}

// An error leaves its message on the thread that caused it.
void be_refused() {
    char host[8];
    CHECK(aclrtFree(host) != ACL_SUCCESS);
    CHECK(std::strstr(aclGetRecentErrMsg(), "aclrtFree: devPtr: expected") != nullptr);
    size_t free = 0, total = 0;
    OK(aclrtGetMemInfo(ACL_HBM_MEM, &free, &total));
}

void run(Shared& shared, int thread, int rounds) {
    OK(aclrtSetDevice(0));
    aclrtStream own = nullptr;
    OK(aclrtCreateStream(&own));
    for (int round = 0; round < rounds; ++round) {
        use_both(shared, thread, round, own);
        make_and_destroy(thread);
        be_refused();
        if (round % 8 == 0) OK(aclrtSynchronizeDevice());
    }
    OK(aclrtDestroyStream(own));
}

}  // namespace

int main(int, char** arguments) {
    const int rounds = std::atoi(arguments[1]);
    OK(aclInit(nullptr));
    OK(aclrtSetDevice(0));
    Shared shared;
    for (aclrtStream& stream : shared.streams) OK(aclrtCreateStream(&stream));
    for (aclrtEvent& event : shared.events) OK(aclrtCreateEvent(&event));
    std::vector<std::thread> threads;
    for (int i = 0; i < kThreads; ++i) threads.emplace_back(run, std::ref(shared), i, rounds);
    for (std::thread& thread : threads) thread.join();
    for (const aclrtStream stream : shared.streams) OK(aclrtDestroyStream(stream));
    for (const aclrtEvent event : shared.events) OK(aclrtDestroyEvent(event));
    CHECK(shared.called == kThreads * rounds);
    OK(aclFinalize());
    std::puts("ended well");
}
