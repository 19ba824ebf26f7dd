// A communicator: its operations run in order, on a thread of its own, so that whoever launches them waits for no other rank.
#pragma once

#include <unistd.h>

#include <deque>
#include <thread>

#include "engine/hccl/group.h"
#include "engine/hccl/operation.h"
#include "engine/runtime/diagnostics/trace.h"
#include "engine/runtime/stream/deferred_task.h"

namespace torch_aclnn::host {

class Communicator : public std::enable_shared_from_this<Communicator> {
   public:
    using Body = std::function<void(Group& group)>;

    Communicator(Membership membership, std::unique_ptr<Group> group);
    ~Communicator();

    const Membership& membership() const { return membership_; }
    int rank() const { return membership_.rank; }
    int size() const { return membership_.size; }
    // Whether this process was forked from that of the communicator, and so lacks its thread and, soon, its connections.
    bool is_of_another_process() const { return getpid() != process_; }

    // Puts the operation on the stream, or into the graph that is captured from it.
    void launch(Operation operation, aclrtStream stream, Body body);
    // Puts the operation on the stream (a handle, or a Stream), whether that is captured or not.
    void launch_now(Operation operation, auto&& stream, Body body);
    // Returns what failed on it some time ago and has not been reported by a synchronisation; its code is an HcclResult.
    std::optional<Error> unreported_failure() const;
    // Returns the suffix of the address of the next communicator that is made of this one under that number.
    std::string next_suffix(uint64_t number);

   private:
    struct Launched {
        Operation operation;
        std::unique_ptr<DeferredTask> task;
        Body body;
    };

    void work();
    void run(Launched& launched);
    void keep_failure(Launched& launched, int code, const std::string& message);
    void refuse_sent(const Message& message, const std::string& difference);
    std::string context_of(const Operation& operation) const;
    std::string give_up(const Operation& operation);
    std::string what_is_known_of_others(const std::string& own) const;

    const Membership membership_;
    const pid_t process_ = getpid();
    const std::unique_ptr<Group> group_;
    mutable std::mutex mutex_;
    std::condition_variable launched_;
    std::deque<Launched> queue_;
    bool closing_ = false;
    std::shared_ptr<Failure> failure_;  // the latest failure, with its HcclResult
    int failure_code_ = HCCL_SUCCESS;
    Completion::Clock::time_point failed_at_;
    // The following members are used by the communicator's thread alone.
    std::string lost_;  // why no operation is possible any more
    uint64_t collectives_ = 0;
    std::map<uint64_t, int> derived_;
    std::thread thread_;
};

// Returns the communicator behind the handle; HCCL_E_PARA if there is none.
std::shared_ptr<Communicator> find_communicator(HcclComm handle);
std::vector<std::shared_ptr<Communicator>> find_communicators(const std::string& name);
HcclComm add_communicator(std::shared_ptr<Communicator> communicator);
std::shared_ptr<Communicator> remove_communicator(HcclComm handle);
// Adds to the line of a call the communicator, its name, its number of ranks, the bytes of what was launched, and the stream.
TraceDetails on_communicator(TraceDetails details, HcclComm comm, aclrtStream stream);

}  // namespace torch_aclnn::host
