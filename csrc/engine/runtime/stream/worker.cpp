#include "engine/runtime/stream/worker.h"

#include <chrono>

namespace torch_aclnn::host {
namespace {

// With TORCH_ACLNN_HOST_DELAYS. Long enough for the program to have gone on to whatever it does too early.
constexpr int kMaxDelayMicroseconds = 2000;

}  // namespace

StreamWorker::StreamWorker(int number) : state_(std::make_shared<State>()) {
    state_->random.seed(static_cast<std::mt19937::result_type>(config().delay_seed + number));
    thread_ = std::thread([state = state_] { work(state); });
}

StreamWorker::~StreamWorker() {
    {
        const std::lock_guard<std::mutex> lock(state_->mutex);
        state_->closing = true;
        state_->changed.notify_one();
    }
    if (thread_.get_id() == std::this_thread::get_id())
        thread_.detach();
    else
        thread_.join();
}

void StreamWorker::push(std::unique_ptr<DeferredTask> place, Task& task) {
    const std::lock_guard<std::mutex> lock(state_->mutex);
    state_->queue.push_back({std::move(place), &task});
    state_->changed.notify_one();
}

void StreamWorker::work(const std::shared_ptr<State>& state) {
    std::unique_lock<std::mutex> lock(state->mutex);
    while (true) {
        state->changed.wait(lock, [&] { return state->closing || !state->queue.empty(); });
        if (state->queue.empty()) return;
        Item item = std::move(state->queue.front());
        state->queue.pop_front();
        lock.unlock();
        run(*state, item);
        item.place.reset();  // with it the stream may go, and with that the worker
        lock.lock();
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
