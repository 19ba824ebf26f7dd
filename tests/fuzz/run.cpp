#include "run.h"

#include <algorithm>
#include <cstring>

#include "world.h"

namespace fuzz {
namespace {

constexpr int kComputingFailed = 507015;
constexpr Wide kMaxWork = Wide{1} << 20;  // elements that phase 2 may process

Counts so_far{};

// The process's streams and a workspace.
struct Device {
    aclrtStream stream = nullptr, destroyed = nullptr;
    void* workspace = nullptr;

    Device() {
        (void)aclInit(nullptr);
        (void)aclrtSetDevice(0);
        (void)aclrtCreateStream(&stream);
        (void)aclrtCreateStream(&destroyed);
        (void)aclrtDestroyStream(destroyed);
        (void)aclrtMalloc(&workspace, 4096, ACL_MEM_MALLOC_HUGE_FIRST);
    }
};

const Device& device() {
    static const Device* const once = new Device;
    return *once;
}

// One call, from phase 1 to the last handle's end.
class Session {
   public:
    explicit Session(const Call& call) : call_(call), entry_(entry_points()[call.entry_point]), blocks_(call), handles_(call, blocks_) {}

    void play() {
        ++so_far.calls;
        (void)aclGetRecentErrMsg();
        const int code =
            entry_.phase1(call_, handles_.arguments(), call_.null_size ? nullptr : &size_, call_.null_executor ? nullptr : &executor_);
        const std::set<int> expected = expected_codes(call_);
        if (expected.count(code) == 0)
            fail(call_, "phase 1 returned " + std::to_string(code) + ", expected " + std::to_string(*expected.begin()));
        if (code != ACLNN_SUCCESS) return require_refusal();
        if (executor_ == nullptr) fail(call_, "phase 1 succeeded without an executor");
        ++so_far.accepted;
        blocks_.fill();
        // What would run for minutes is right all the same, and needs no run.
        if (is_large(call_)) return destroy();
        is_on_another_device(call_) ? run_beside_its_memory() : act();
    }

   private:
    static bool is_large(const Call& call) {
        Wide work = 0;
        for (const TensorSpec& t : call.tensors)
            if (exists(t)) work += element_count(t);
        return work > kMaxWork && !is_empty(call.tensors.back());
    }

    // Phase 1 has accepted it, so that all of its tensors with elements are on one device.
    static bool is_on_another_device(const Call& call) {
        return std::any_of(call.tensors.begin(), call.tensors.end(), [&](const TensorSpec& t) {
            return exists(t) && !is_empty(t) && call.tensors[t.block_of].memory == Memory::other_device;
        });
    }

    void require_refusal() {
        if (executor_ != nullptr) fail(call_, "phase 1 refused, and wrote an executor");
        require_message(entry_.name);
    }

    void require_message(const char* function) {
        const std::string message = aclGetRecentErrMsg();
        if (message.rfind(std::string(function) + ": ", 0) != 0) fail(call_, "the message does not name the function: " + message);
    }

    int phase2(const EntryPoint& entry, aclOpExecutor* executor, aclrtStream stream) {
        return entry.phase2(size_ > 0 ? device().workspace : nullptr, size_, executor, stream);
    }

    void require_refused(int code, int expected, const char* when, const char* function) {
        if (code != expected)
            fail(call_, std::string(when) + ": phase 2 returned " + std::to_string(code) + ", expected " + std::to_string(expected));
        require_message(function);
        if (aclrtSynchronizeStream(device().stream) != ACL_SUCCESS)
            fail(call_, std::string(when) + ": a refused call failed on the stream");
        blocks_.require_untouched(when);
    }
    void require_refused(int code, int expected, const char* when) { require_refused(code, expected, when, entry_.name); }

    void require_used_up(const char* when) {
        if (aclDestroyAclOpExecutor(executor_) != ACLNN_ERR_PARAM_INVALID) fail(call_, std::string(when) + ": the executor is not used up");
        require_message("aclDestroyAclOpExecutor");
    }

    void destroy() {
        if (aclDestroyAclOpExecutor(executor_) != ACLNN_SUCCESS) fail(call_, "a live executor could not be destroyed");
    }

    void compute() { require_computed(phase2(entry_, executor_, device().stream)); }

    void require_computed(int code) {
        if (code != ACLNN_SUCCESS) fail(call_, "phase 2 returned " + std::to_string(code));
        const int expected = blocks_.has_bad_index() ? kComputingFailed : ACL_SUCCESS;
        const int ended = aclrtSynchronizeStream(device().stream);
        if (ended != expected) fail(call_, "the stream returned " + std::to_string(ended) + ", expected " + std::to_string(expected));
        blocks_.require_written_once();
        ++so_far.computed;
    }

    void run_beside_its_memory() {
        require_refused(phase2(entry_, executor_, device().stream), ACLNN_ERR_RUNTIME_ERROR, "a stream of another device");
        require_used_up("a stream of another device");
    }

    void act() {
        switch (call_.plot) {
            case Plot::run_twice:
                compute();
                if (phase2(entry_, executor_, device().stream) != ACLNN_ERR_PARAM_INVALID) fail(call_, "an executor was used twice");
                return blocks_.require_written_once();
            case Plot::run_as_another: return run_as_another();
            case Plot::destroy_tensor: return destroy_tensor();
            case Plot::destroy_array: return destroy_array();
            case Plot::free_memory: return free_memory();
            case Plot::null_executor:
                require_refused(phase2(entry_, nullptr, device().stream), ACLNN_ERR_PARAM_NULLPTR, "a null executor");
                return compute();
            case Plot::foreign_executor: {
                auto* const foreign = static_cast<aclOpExecutor*>(Handles::foreign(call_.choice));
                require_refused(phase2(entry_, foreign, device().stream), ACLNN_ERR_PARAM_INVALID, "a foreign executor");
                return compute();
            }
            case Plot::destroy_executor:
                destroy();
                require_refused(phase2(entry_, executor_, device().stream), ACLNN_ERR_PARAM_INVALID, "a destroyed executor");
                return require_used_up("a destroyed executor");
            case Plot::abandon: return destroy();
            case Plot::repeat: return repeat();
            case Plot::foreign_stream: {
                const bool dead = call_.choice % 2 == 0;
                require_refused(phase2(entry_, executor_, dead ? device().destroyed : Handles::foreign(call_.choice)),
                                ACLNN_ERR_RUNTIME_ERROR, "a foreign stream");
                return require_used_up("a foreign stream");
            }
            case Plot::move_output: return move_output();
            case Plot::wrong_address: return wrong_address();
            case Plot::unneeded_workspace: return require_computed(entry_.phase2(device().workspace, 2048, executor_, device().stream));
            case Plot::missing_workspace:
                require_refused(entry_.phase2(nullptr, 512, executor_, device().stream), ACLNN_ERR_PARAM_NULLPTR, "a missing workspace");
                return compute();
            default: return compute();
        }
    }

    void run_as_another() {
        const EntryPoint& other = entry_points()[call_.choice % entry_points().size()];
        if (&other != &entry_)
            require_refused(phase2(other, executor_, device().stream), ACLNN_ERR_PARAM_INVALID, "another entry point's executor",
                            other.name);
        compute();
    }

    void destroy_tensor() {
        const size_t i = call_.choice % call_.tensors.size();
        if (!exists(call_.tensors[i])) return compute();
        handles_.destroy_tensor(i);
        require_refused(phase2(entry_, executor_, device().stream), ACLNN_ERR_PARAM_INVALID, "a tensor that was destroyed");
        require_used_up("a tensor that was destroyed");
    }

    void destroy_array() {
        const size_t i = call_.choice % kMaxArrays;
        if (i >= call_.arrays.size() || call_.arrays[i].handle != Handle::live) return compute();
        handles_.destroy_array(i);
        require_refused(phase2(entry_, executor_, device().stream), ACLNN_ERR_PARAM_INVALID, "an array that was destroyed");
        require_used_up("an array that was destroyed");
    }

    void free_memory() {
        const size_t i = call_.choice % call_.tensors.size();
        if (!exists(call_.tensors[i]) || is_empty(call_.tensors[i])) return compute();
        blocks_.free(i);
        require_refused(phase2(entry_, executor_, device().stream), ACLNN_ERR_PARAM_INVALID, "memory that was freed");
        require_used_up("memory that was freed");
    }

    void repeat() {
        if (aclSetAclOpExecutorRepeatable(executor_) != ACLNN_SUCCESS) fail(call_, "an executor could not be made repeatable");
        compute();
        blocks_.fill();
        compute();
        destroy();
    }

    // Moves the output to memory of its own, and not to that of an input that is read, because phase 1 refuses that.
    void move_output() {
        const size_t out = call_.tensors.size() - 1;
        aclTensor* const tensor = handles_.arguments().tensors[out];
        for (size_t i = 0; i < out; ++i)
            if (call_.tensors[i].block_of == call_.tensors[out].block_of || call_.tensors[i].handle_of == call_.tensors[out].handle_of)
                return compute();
        if (blocks_.data(out) == nullptr) return compute();
        const TensorSpec& input = call_.tensors[0];
        const bool both = !is_empty(input) && !is_empty(call_.tensors[out]);
        auto* const onto = static_cast<uint8_t*>(blocks_.data(0)) + input.offset * item_size(input.dtype) -
                           call_.tensors[out].offset * item_size(call_.tensors[out].dtype);
        if (both && aclSetOutputTensorAddr(executor_, 0, tensor, onto) == ACLNN_SUCCESS) fail(call_, "the output was moved onto an input");
        blocks_.move_output();
        if (aclSetOutputTensorAddr(executor_, 0, tensor, blocks_.data(out)) != ACLNN_SUCCESS) fail(call_, "the output could not be moved");
        compute();
    }

    void wrong_address() {
        const size_t i = call_.choice % call_.tensors.size();
        aclTensor* const tensor = handles_.arguments().tensors[i];
        static char host[64];
        const int beyond = aclSetTensorAddr(executor_, SIZE_MAX - call_.choice, tensor, device().workspace);
        const int null = aclSetTensorAddr(executor_, i, tensor, nullptr);
        const int foreign = aclSetTensorAddr(executor_, i, static_cast<aclTensor*>(Handles::foreign(call_.choice)), device().workspace);
        const bool has_elements = exists(call_.tensors[i]) && !is_empty(call_.tensors[i]);
        if (has_elements && aclSetTensorAddr(executor_, i, tensor, host) == ACLNN_SUCCESS) fail(call_, "a tensor was moved to host memory");
        if (beyond == ACLNN_SUCCESS || null != ACLNN_ERR_PARAM_NULLPTR || foreign == ACLNN_SUCCESS)
            fail(call_, "a wrong address was taken");
        compute();
    }

    const Call& call_;
    const EntryPoint& entry_;
    Blocks blocks_;
    Handles handles_;
    uint64_t size_ = 0;
    aclOpExecutor* executor_ = nullptr;
};

}  // namespace

void run(const Call& call) {
    (void)device();
    Session(call).play();
}

const Counts& counts() {
    return so_far;
}

}  // namespace fuzz
