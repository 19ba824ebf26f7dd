// What the rest of the engine may ask of the runtime. Exported from libascendcl.so as C++, for libraries that are built with it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <vector>

#include "acl/acl.h"
#include "engine/runtime/error/error.h"
#include "engine/runtime/visibility.h"
#include "torch_aclnn/entry_points.h"

namespace torch_aclnn::host {

// The products that documents list operators for: Ascend310P, Ascend910A, Ascend910B1 to B4, Ascend910_93, Ascend310B, Ascend950.
enum class Product { inference, training, a2, a3, edge, ascend950 };
constexpr Product kProducts[] = {Product::inference, Product::training, Product::a2, Product::a3, Product::edge, Product::ascend950};

// The engine's settings, read from the environment once, at first use (docs/environment.md lists the variables).
struct Config {
    std::string soc_name;                   // TORCH_ACLNN_HOST_SOC
    Product product = Product::a2;          // follows from soc_name
    int device_count = 1;                   // TORCH_ACLNN_HOST_DEVICES, or LOCAL_WORLD_SIZE
    size_t memory_bytes = size_t{8} << 30;  // TORCH_ACLNN_HOST_MEMORY, per device
    int thread_count = 1;                   // TORCH_ACLNN_HOST_THREADS
    bool allow_float64 = false;             // TORCH_ACLNN_HOST_FLOAT64
    bool strict = false;                    // TORCH_ACLNN_HOST_STRICT: refuse what the documents do not promise
    bool unspecified = false;               // TORCH_ACLNN_HOST_UNSPECIFIED: what no document promises is given in the least helpful way
    bool use_workspace = false;             // TORCH_ACLNN_HOST_WORKSPACE: entry points ask for a workspace and write over it
    bool list_leaks = false;                // TORCH_ACLNN_HOST_LEAKS: aclFinalize lists handles and executors that were not destroyed
    bool compare_ranks = true;              // TORCH_ACLNN_HOST_CHECK_COLLECTIVES: ranks compare what they are about to do
    bool asynchronous = false;              // TORCH_ACLNN_HOST_ASYNC: each stream runs its work on a thread of its own
    int delay_seed = 0;                     // TORCH_ACLNN_HOST_DELAYS: work is delayed at random; 0: it is not
    bool check_streams = false;             // TORCH_ACLNN_HOST_CHECK_STREAMS: report unordered uses of memory on two streams
    bool isolate = false;                   // TORCH_ACLNN_HOST_ISOLATE: the program cannot touch device memory
    bool poison = false;                    // TORCH_ACLNN_HOST_POISON: fresh and freed memory is written over
    std::string faults;                     // TORCH_ACLNN_HOST_FAULT: what is to fail; empty: nothing
    std::string trace;                      // TORCH_ACLNN_HOST_TRACE: a file's path, in which %p is the process, or "stderr"
};
TORCH_ACLNN_HOST_API const Config& config();

// A number for the calling thread that no other thread of the process has or had.
TORCH_ACLNN_HOST_API uint64_t thread_number() noexcept;

// Device memory that a task reads or writes. The name is the parameter's.
struct MemoryAccess {
    const char* name;
    const void* data;
    size_t bytes;
    bool is_write;
};

// One unit of work on a stream. The stream calls run() once, in order, then finish() once, whatever run() did. A graph that keeps it calls
// run() once for each replay.
class TORCH_ACLNN_HOST_API Task {
   public:
    Task() : origin_(thread_number()) {}
    virtual ~Task() = default;

    // The thread that asked for the work; another one may hand it to the stream.
    uint64_t origin() const { return origin_; }
    virtual const char* name() const = 0;  // must outlive the task: messages begin with it
    // Asked for with TORCH_ACLNN_HOST_CHECK_STREAMS only, when the task is launched.
    virtual std::vector<MemoryAccess> accesses() const { return {}; }
    virtual void run() = 0;  // may throw an Error, whose code is kept, or anything else: ACL_ERROR_RT_AICORE_EXCEPTION
    virtual void finish() noexcept = 0;
    // Called before a graph takes it: what it needs must stay until finish(). Throws an Error if that cannot be.
    virtual void keep() {}

   private:
    const uint64_t origin_;
};

// True where a task runs after the program has gone on: it may have freed the task's memory meanwhile.
TORCH_ACLNN_HOST_API bool runs_later() noexcept;

// Hands the task to the stream (null: the device's default stream). If it throws, an Error, the task has not been taken.
TORCH_ACLNN_HOST_API void enqueue(aclrtStream stream, Task& task);
// The same, and returns when the stream has come to its end.
TORCH_ACLNN_HOST_API void enqueue_and_wait(aclrtStream stream, Task& task);

// A call that failed was to put work on the stream. If the stream is captured, its graph would lack that work: the capture fails.
TORCH_ACLNN_HOST_API void fail_capture(aclrtStream stream, const char* function, const std::exception& error) noexcept;

// Memory that a device sees: from aclrtMalloc, aclrtMapMem or aclrtHostRegister.
struct DeviceMemory {
    size_t reach;  // bytes from the address to the end of its allocation
    int device;    // -1: registered host memory, which all devices see
};
// The memory at the address, looking no further than `wanted` bytes where allocations touch; nothing if it is in no allocation.
TORCH_ACLNN_HOST_API std::optional<DeviceMemory> device_memory_at(const void* address, size_t wanted);
// Another number whenever memory that a device sees has come or gone.
TORCH_ACLNN_HOST_API uint64_t device_memory_version() noexcept;

// True from aclFinalize until another aclInit.
TORCH_ACLNN_HOST_API bool finalized() noexcept;
// Has aclFinalize call `report` if TORCH_ACLNN_HOST_LEAKS is set, once for each that is added.
TORCH_ACLNN_HOST_API void add_leak_report(void (*report)());

// One record of torchAclnnHostEntryPoints(). Make one static object for each entry point: it is listed while its library is loaded.
class TORCH_ACLNN_HOST_API EntryPoint {
   public:
    EntryPoint(const char* name, const char* family, uint64_t data_types) noexcept : EntryPoint(name, family, data_types, nullptr, 0) {}
    template <size_t count>
    EntryPoint(const char* name, const char* family, uint64_t data_types, const torchAclnnParameter (&parameters)[count]) noexcept
        : EntryPoint(name, family, data_types, parameters, count) {}
    // A function that always fails.
    EntryPoint(const char* name, const char* family) noexcept;
    EntryPoint(const EntryPoint&) = delete;
    ~EntryPoint();

    // Counts without a lock, for it is on the way of every call.
    void count_call() noexcept { calls_->fetch_add(1, std::memory_order_relaxed); }

    const char* name() const { return description_.name; }
    const char* parameter(size_t i) const { return description_.parameters[i].name; }
    uint64_t data_types() const { return description_.dataTypes; }

    // With the calls since the last reset.
    torchAclnnEntryPoint description() const noexcept;
    void reset_calls() noexcept;

   private:
    EntryPoint(const char* name, const char* family, uint64_t data_types, const torchAclnnParameter* parameters,
               size_t parameter_count) noexcept;

    torchAclnnEntryPoint description_;
    std::atomic<uint64_t> own_calls_{0};
    std::atomic<uint64_t>* calls_;  // only ever counts up, so that a reset needs no lock either
    std::atomic<uint64_t> calls_at_reset_{0};
};

}  // namespace torch_aclnn::host
