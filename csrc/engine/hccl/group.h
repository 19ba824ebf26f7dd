// How the ranks of a communicator talk to each other: the interface to libtorch_aclnn_collectives.so, which does it with Gloo and needs
// torch, and to a rank that has nobody to talk to.
#pragma once

#include <chrono>
#include <memory>

#include "engine/hccl/operation.h"

namespace torch_aclnn::host {

struct OperationRecord;

// A message that is sent to, or received from, one rank.
struct Message {
    void* data;
    size_t bytes;
    uint64_t count;
    HcclDataType type;
    int peer;
    aclrtStream stream;

    // Whether it may be a shape that stages of a pipeline send each other.
    bool is_few_integers() const { return bytes <= 64 && (type == HCCL_DATA_TYPE_INT64 || type == HCCL_DATA_TYPE_INT32); }
};

// The parts that an AllToAll sends to, or receives from, each rank: contiguous, in the order of the ranks.
struct Parts {
    void* data;
    std::vector<int64_t> bytes;
};

// A rank's part, in bytes, of an output that has something of each rank.
struct Part {
    size_t begin, bytes;
};

// One rank's end of a group. Each call waits for this rank's part of the operation and throws an Error, of an HcclResult, if it fails. To
// be called by one thread at a time.
class Group {
   public:
    // Called for a message that differs from what its receiver expects.
    using Refused = std::function<void(const Message& message, const std::string& difference)>;

    virtual ~Group() = default;

    // Exchanges what each rank is about to do, before an operation of all of them.
    virtual std::vector<OperationRecord> compare(const OperationRecord& own) = 0;
    virtual void broadcast(void* data, size_t bytes, int root) = 0;
    // `bytes` are those of one rank.
    virtual void all_gather(const void* input, void* output, size_t bytes) = 0;
    // `parts` has one of each rank, and the same sizes on all.
    virtual void all_gather_parts(const void* input, void* output, const std::vector<Part>& parts) = 0;
    virtual void scatter(const void* input, void* output, size_t bytes, int root) = 0;
    virtual void all_to_all(const Parts& input, const Parts& output) = 0;
    virtual void all_reduce(const void* input, void* output, uint64_t count, HcclDataType type, HcclReduceOp op) = 0;
    virtual void reduce(const void* input, void* output, uint64_t count, HcclDataType type, HcclReduceOp op, int root) = 0;
    // `count` is that of one rank.
    virtual void reduce_scatter(const void* input, void* output, uint64_t count, HcclDataType type, HcclReduceOp op) = 0;
    // Takes a copy and does not wait for the receiver. If that expects something else, `refused` is called later, on another thread.
    virtual void send(const Message& message) = 0;
    virtual void set_refused(Refused refused) = 0;
    virtual void receive(const Message& message) = 0;
    // Sends and receives all messages at the same time.
    virtual void exchange(const std::vector<Message>& sends, const std::vector<Message>& receives) = 0;
    // Waits until all messages have left this rank. Called before the group ends.
    virtual void flush() = 0;
    // Breaks the connections, so that ranks which wait for this one fail too, before their timeout. Nothing but the two calls below and
    // flush() may follow.
    virtual void abandon() noexcept = 0;
    // Tells the other ranks which operation has failed here.
    virtual void report_failure(const std::string& operation) = 0;
    // Returns the operations that other ranks have reported as failed, by rank; waits a moment for reports, and until the ranks know each
    // other's.
    virtual std::map<int, std::string> failures_of_others() = 0;
    // Returns the rank that hosts the store in which the ranks find each other; -1 if it is not in this group.
    virtual int meeting_rank() const = 0;
};

struct Membership {
    std::string address;  // from Transport::listen(), perhaps with a suffix
    std::string name;     // the communicator's name
    int rank;
    int size;
    int device;
    std::chrono::milliseconds connect_timeout;
    std::chrono::milliseconds timeout;  // the timeout of each operation
    bool compare;                       // whether ranks compare their operations, and messages with what their receivers expect
};

// What a rank table says: where rank 0 listens for the others, and how many ranks there are.
struct Meeting {
    std::string address;
    uint32_t ranks;
};

class Transport {
   public:
    virtual ~Transport() = default;
    // Begins to listen for ranks, and returns where.
    virtual std::string listen() = 0;
    virtual Meeting meeting_of_table(const std::string& path) = 0;
    // Begins to listen for ranks at the address.
    virtual void listen_at(const std::string& address) = 0;
    // Joins the group; returns when all ranks are there.
    virtual std::unique_ptr<Group> connect(const Membership& membership) = 0;
    // Joins the groups of several ranks of this process.
    virtual std::vector<std::unique_ptr<Group>> connect_all(const std::vector<Membership>& memberships) = 0;
};

// The library calls this when it is loaded.
TORCH_ACLNN_HOST_API void set_transport(Transport* transport) noexcept;
// Returns the transport of a rank alone, if the library has not been loaded or TORCH_ACLNN_HOST_RANK_ALONE asks for it.
Transport& transport();

// Returns the transport of a rank without peers: with TORCH_ACLNN_HOST_RANK_ALONE of any rank, and otherwise of the only rank of a
// communicator in a process that has no other transport.
Transport& transport_alone();

}  // namespace torch_aclnn::host
