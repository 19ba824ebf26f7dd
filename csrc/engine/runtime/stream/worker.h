// The thread that runs a stream's tasks, in their order, while the program goes on.
#pragma once

#include <deque>
#include <random>
#include <thread>

#include "engine/runtime/stream/deferred_task.h"

namespace torch_aclnn::host {

class StreamWorker {
   public:
    // The number tells the random delays of one stream from those of another. Throws an Error if the system gives no thread.
    StreamWorker(int number, std::shared_ptr<Demand> demand);
    StreamWorker(const StreamWorker&) = delete;
    // A worker's tasks keep the stream, so there are none left, unless the last of them is what destroys it.
    ~StreamWorker();

    // Holds up a program that is far ahead of the stream, as an NPU's queue does.
    void await_room();
    // `place` is where the task is in the stream's order.
    void push(std::unique_ptr<DeferredTask> place, Task& task);
    // With TORCH_ACLNN_HOST_DELAYS a task begins only when something waits for it. This has the launch wait at random, so that the order of
    // tasks depends on what the program waits for, and not on the speed of its threads.
    void wait_by_chance(const Completion& completion);
    // Gives up the tasks that have not begun, and waits until the deadline for the one that runs.
    void abandon(Completion::Clock::time_point deadline);

   private:
    struct Item {
        std::unique_ptr<DeferredTask> place;
        Task* task;
    };

    // The state outlives the worker if the thread that it runs on is the one that ends it.
    struct State {
        std::mutex mutex;
        std::condition_variable changed;
        std::deque<Item> queue;
        bool running = false;
        bool closing = false;
        std::shared_ptr<Demand> demand;
        std::mt19937 random;
    };

    class Running;

    static void work(const std::shared_ptr<State>& state);
    static void run(State& state, Item& item);
    static void await_demand(State& state, const Item& item);

    const std::shared_ptr<State> state_;
    std::thread thread_;
};

}  // namespace torch_aclnn::host
