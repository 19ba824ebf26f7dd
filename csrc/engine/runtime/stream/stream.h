// Streams: tasks in order, and the failure of one kept until somebody has been told.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "engine/runtime/engine.h"

namespace torch_aclnn::host {

class Event;

// What a task died of. Streams and events share it. The first thread that waits is told, and so is, once each, every thread whose own work
// failed or was left out because of it.
class Failure {
   public:
    Failure(aclError code, std::string message) : code_(code), message_(std::move(message)) {}

    // Until somebody has been told, what comes behind the failure is not run.
    bool pending() const { return !told_.load(std::memory_order_acquire); }
    // True if the calling thread is still to be told.
    bool concerns_caller() const;
    const std::string& message() const { return message_; }
    aclError code() const { return code_; }

    void add_concerned(uint64_t thread);
    // Those who waited to be told of an older failure are told of this one.
    void inherit(const Failure& older);

    // Leaves the sentence on the calling thread and returns the code; 0 if it need not be told.
    aclError tell() noexcept;

   private:
    const aclError code_;
    const std::string message_;
    std::atomic<bool> told_{false};
    mutable std::mutex mutex_;
    std::set<uint64_t> concerned_;  // by thread_number()
};

class Stream {
   public:
    static constexpr int kForever = -1;

    Stream(int device, int id) : device_(device), id_(id) {}
    virtual ~Stream() = default;
    Stream(const Stream&) = delete;
    Stream& operator=(const Stream&) = delete;

    int device() const { return device_; }
    int id() const { return id_; }
    uint32_t overflow_switch() const { return overflow_switch_; }
    void set_overflow_switch(uint32_t flag) { overflow_switch_ = flag; }

    // Takes the task: run() once, or not at all behind a failure; finish() in any case.
    virtual void submit(Task& task) noexcept = 0;
    virtual void record(Event& event) = 0;
    // Orders what comes next behind the event; what depends on failed work is not run either.
    virtual void wait_for(Event& event) = 0;
    // Waits until all work is done; false: it was not, within that many milliseconds.
    virtual bool wait(int milliseconds) = 0;
    virtual bool idle() = 0;
    // The failure that the calling thread is to be told of, or null.
    virtual std::shared_ptr<Failure> failure() = 0;

   private:
    const int device_;
    const int id_;
    std::atomic<uint32_t> overflow_switch_{0};
};

// To be called when a failure comes up: makes the process print it when it ends and nobody has been told.
void watch_for_lost_failures();

std::shared_ptr<Stream> make_stream(int device);

// All streams of a device, its default stream first.
std::vector<std::shared_ptr<Stream>> streams_of(int device);

// The stream behind the handle; null means the current device's default stream. Refuses with a sentence.
aclError find_stream(const char* function, aclrtStream handle, std::shared_ptr<Stream>& stream);

}  // namespace torch_aclnn::host
