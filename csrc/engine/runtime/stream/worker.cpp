#include "engine/runtime/stream/worker.h"

#include <cxxabi.h>

#include <system_error>

#include "engine/runtime/stream/dry_run.h"
#include "engine/runtime/text.h"

namespace torch_aclnn::host {

// The longest delay of TORCH_ACLNN_HOST_DELAYS, during which the program may do something too early.
constexpr auto kMaxDelay = std::chrono::seconds(1);
constexpr auto kDemandPause = std::chrono::microseconds(100);

constexpr size_t kMaxQueue = size_t{1} << 14;

// The lock is free while a task runs.
class StreamWorker::Running {
   public:
    Running(State& state, std::unique_lock<std::mutex>& lock) : state_(state), lock_(lock) {
        state_.running = true;
        lock_.unlock();
    }
    Running(const Running&) = delete;
    ~Running() {
        lock_.lock();
        state_.running = false;
        state_.changed.notify_all();
    }

   private:
    State& state_;
    std::unique_lock<std::mutex>& lock_;
};

StreamWorker::StreamWorker(int number, std::shared_ptr<Demand> demand) : state_(std::make_shared<State>()) {
    state_->demand = std::move(demand);
    state_->random.seed(static_cast<std::mt19937::result_type>(config().delay_seed + number));
    try {
        thread_ = std::thread([state = state_] { work(state); });
    } catch (const std::system_error& error) {
        throw Error(ACL_ERROR_INTERNAL_ERROR, text("no thread for stream ", number, ": ", error.what()));
    }
}

StreamWorker::~StreamWorker() {
    {
        const std::lock_guard<std::mutex> lock(state_->mutex);
        state_->closing = true;
        state_->changed.notify_all();
    }
    if (thread_.get_id() == std::this_thread::get_id())
        thread_.detach();
    else
        thread_.join();
}

void StreamWorker::await_room() {
    // A task of this stream that launches another, such as a callback of the program, cannot wait for its own end.
    if (thread_.get_id() == std::this_thread::get_id()) return;
    std::unique_lock<std::mutex> lock(state_->mutex);
    if (state_->queue.size() < kMaxQueue) return;
    state_->demand->raise_to_all();
    state_->changed.wait(lock, [this] { return state_->queue.size() < kMaxQueue; });
}

void StreamWorker::push(std::unique_ptr<DeferredTask> place, Task& task) {
    const std::lock_guard<std::mutex> lock(state_->mutex);
    state_->queue.push_back({std::move(place), &task});
    state_->changed.notify_all();
}

void StreamWorker::abandon(Completion::Clock::time_point deadline) {
    std::deque<Item> given_up;
    {
        std::unique_lock<std::mutex> lock(state_->mutex);
        given_up.swap(state_->queue);
        state_->changed.notify_all();
        state_->changed.wait_until(lock, deadline, [this] { return !state_->running; });
    }
    for (Item& item : given_up) item.task->finish();
}

void StreamWorker::work(const std::shared_ptr<State>& state) {
    std::unique_lock<std::mutex> lock(state->mutex);
    while (true) {
        state->changed.wait(lock, [&] { return state->closing || !state->queue.empty(); });
        if (state->queue.empty()) return;
        Item item = std::move(state->queue.front());
        state->queue.pop_front();
        const Running running(*state, lock);
        run(*state, item);
        item.place.reset();  // this may destroy the stream, and with it the worker
    }
}

void StreamWorker::wait_by_chance(const Completion& completion) {
    if (thread_.get_id() == std::this_thread::get_id()) return;
    std::unique_lock<std::mutex> lock(state_->mutex);
    const bool waits = state_->random() % 2 == 0;
    lock.unlock();
    if (waits) (void)completion.wait_until(Completion::Clock::now() + kMaxDelay);
}

void StreamWorker::await_demand(State& state, const Item& item) {
    const auto end = Completion::Clock::now() + kMaxDelay;
    while (!item.place->is_demanded() && Completion::Clock::now() < end) std::this_thread::sleep_for(kDemandPause);
    if (!item.place->is_demanded()) state.demand->raise_to_all();  // if nothing waits, the program may be doing something else
}

void StreamWorker::run(State& state, Item& item) {
    if (config().delay_seed != 0) await_demand(state, item);
    if (item.place->start()) {
        try {
            perform(*item.task);
            item.task->finish();
            return item.place->succeed();
        } catch (const abi::__forced_unwind&) {
            throw;  // Python ends the thread of a callback that wants to go on after the interpreter has ended
        } catch (const Error& error) {
            (void)item.place->fail(error.code(), error.what());
        } catch (const std::exception& error) {
            (void)item.place->fail(ACL_ERROR_RT_AICORE_EXCEPTION, error.what());
        } catch (...) {
            (void)item.place->fail(ACL_ERROR_RT_AICORE_EXCEPTION, "unknown exception");
        }
    }
    item.task->finish();
}

}  // namespace torch_aclnn::host
