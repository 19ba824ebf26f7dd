#include "engine/runtime/stream/computing_thread.h"

#include <omp.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>

#include "engine/runtime/calling_thread.h"
#include "engine/runtime/device/process.h"
#include "engine/runtime/stream/interpreter.h"

namespace torch_aclnn::host {
namespace {

// Work on fewer elements is computed by the thread that launches it: handing it over takes as long, and ATen computes it on one thread.
constexpr int64_t kFewElements = 1 << 14;

thread_local bool is_limited = false;

// The number of the thread that computes in parallel; 0 while none has.
std::atomic<uint64_t> computing{0};

// Leaves the place of the computing thread to another when the calling thread ends: its OpenMP threads end with it.
struct Leave {
    ~Leave() {
        uint64_t own = thread_number();
        computing.compare_exchange_strong(own, 0);
    }
};

bool become_computing_thread() {
    uint64_t none = 0;
    if (!computing.compare_exchange_strong(none, thread_number())) return false;
    thread_local const Leave leave;
    return true;
}

void end_own_threads() noexcept {
    omp_pause_resource(omp_pause_soft, omp_get_initial_device());
}

// A thread that computes what others hand to it, in the order in which they do.
class SharedThread {
   public:
    SharedThread() {
        std::thread([this] { work(); }).detach();
    }

    void run(const std::function<void()>& function) {
        Job job{function};
        const WithoutInterpreter without;
        std::unique_lock<std::mutex> lock(mutex_);
        jobs_.push_back(&job);
        arrived_.notify_one();
        job.ended.wait(lock, [&] { return job.is_over; });
        lock.unlock();
        if (job.error) std::rethrow_exception(job.error);
    }

   private:
    struct Job {
        const std::function<void()>& function;
        std::condition_variable ended = {};
        bool is_over = false;
        std::exception_ptr error = {};
    };

    void work() {
        pthread_setname_np(pthread_self(), "aclnn_compute");
        computing = thread_number();
        std::unique_lock<std::mutex> lock(mutex_);
        while (true) {
            arrived_.wait(lock, [this] { return !jobs_.empty(); });
            Job& job = *jobs_.front();
            jobs_.pop_front();
            lock.unlock();
            try {
                job.function();
            } catch (...) {
                job.error = std::current_exception();
            }
            lock.lock();
            job.is_over = true;
            job.ended.notify_one();  // under the lock, because the job is gone once its thread goes on
        }
    }

    std::mutex mutex_;
    std::condition_variable arrived_;
    std::deque<Job*> jobs_;
};

// The thread is never destroyed, because other threads may still compute while the process ends. Returns null if the process can have no
// further thread.
SharedThread* shared_thread() {
    static SharedThread* const thread = []() -> SharedThread* {
        try {
            return new SharedThread;
        } catch (const std::system_error&) {
            return nullptr;
        }
    }();
    return thread;
}

bool computes_here() {
    return omp_get_max_threads() == 1 || computing.load(std::memory_order_relaxed) == thread_number() || become_computing_thread();
}

}  // namespace

OneThread::OneThread() noexcept : before_(omp_get_max_threads()), is_nested_(is_limited) {
    is_limited = true;
    omp_set_num_threads(1);
}

OneThread::~OneThread() {
    is_limited = is_nested_;
    omp_set_num_threads(before_);
}

void OneThread::renew() noexcept {
    if (is_limited) omp_set_num_threads(1);
}

void compute_in_parallel(int64_t elements, const std::function<void()>& work) {
    if (computes_here()) return work();
    SharedThread* const thread = elements < kFewElements || is_forked() ? nullptr : shared_thread();
    if (thread == nullptr) {
        const OneThread here;
        return work();
    }
    end_own_threads();
    thread->run(work);
}

// A thread that computes on the CPU again gets new ones, which takes time: at most about a fiftieth of it.
void end_idle_threads() noexcept {
    using Clock = std::chrono::steady_clock;
    thread_local Clock::time_point next = Clock::time_point::min();
    const auto now = Clock::now();
    if (now < next || computing.load(std::memory_order_relaxed) == thread_number()) return;
    end_own_threads();
    next = now + std::min<Clock::duration>(50 * (Clock::now() - now), std::chrono::milliseconds(100));
}

}  // namespace torch_aclnn::host
