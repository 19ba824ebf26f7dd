#include "engine/runtime/stream/worker.h"

#include <chrono>
#include <system_error>

#include "engine/runtime/text.h"

namespace torch_aclnn::host {
namespace {

// With TORCH_ACLNN_HOST_DELAYS. Long enough for the program to have gone on to whatever it does too early.
constexpr int kMaxDelayMicroseconds = 2000;

constexpr size_t kMaxQueue = size_t{1} << 14;

}  // namespace

StreamWorker::StreamWorker(int number) : state_(std::make_shared<State>()) {
    state_->random.seed(static_cast<std::mt19937::result_type>(config().delay_seed + number));
    try {
        thread_ = std::thread([state = state_] { work(state); });
    } catch (const std::system_error& error) {
        throw Error(ACL_ERROR_RT_INTERNAL_ERROR, text("no thread for stream ", number, ": ", error.what()));
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
    // What a task of this stream launches, such as a callback of the program, cannot wait for the end of that task.
    if (thread_.get_id() == std::this_thread::get_id()) return;
    std::unique_lock<std::mutex> lock(state_->mutex);
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
        state->running = true;
        lock.unlock();
        run(*state, item);
        item.place.reset();  // with it the stream may go, and with that the worker
        lock.lock();
        state->running = false;
        state->changed.notify_all();
    }
}

void StreamWorker::run(State& state, Item& item) {
    if (config().delay_seed != 0) std::this_thread::sleep_for(std::chrono::microseconds(state.random() % kMaxDelayMicroseconds));
    if (item.place->start()) {
        try {
            item.task->run();
            item.task->finish();
            return item.place->succeed();
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
