// The thread that runs a stream's tasks, in their order, while the program goes on.
#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <random>
#include <thread>

#include "engine/runtime/engine.h"
#include "engine/runtime/stream/deferred_task.h"

namespace torch_aclnn::host {

class StreamWorker {
   public:
    // The number tells the random delays of one stream from those of another.
    explicit StreamWorker(int number);
    StreamWorker(const StreamWorker&) = delete;
    // Waits for the task that runs, unless that is what destroys the stream.
    ~StreamWorker();

    // `place` is where the task is in the stream's order.
    void push(std::unique_ptr<DeferredTask> place, Task& task);

   private:
    struct Item {
        std::unique_ptr<DeferredTask> place;
        Task* task;
    };

    // Outlives the worker if the thread that it runs on is the one that ends it.
    struct State {
        std::mutex mutex;
        std::condition_variable changed;
        std::deque<Item> queue;
        bool closing = false;
        std::mt19937 random;
    };

    static void work(const std::shared_ptr<State>& state);
    static void run(State& state, Item& item);

    const std::shared_ptr<State> state_;
    std::thread thread_;
};

}  // namespace torch_aclnn::host
