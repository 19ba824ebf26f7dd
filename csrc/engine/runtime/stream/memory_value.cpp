// Work that waits until a word of device memory has some value, and what writes it.

#include <thread>

#include "engine/runtime/call/faultable.h"
#include "engine/runtime/device/device.h"
#include "engine/runtime/memory/memory_range.h"
#include "engine/runtime/stream/stream.h"

namespace torch_aclnn::host {
namespace {

constexpr auto kValuePause = std::chrono::microseconds(50);
// Another thread may still write the value while aclrtResetDevice waits for the stream; after that nobody is expected to.
constexpr auto kResetPause = std::chrono::seconds(1);

bool is_met(uint64_t found, uint64_t value, uint32_t comparison) {
    switch (comparison) {
        case ACL_VALUE_WAIT_GEQ: return static_cast<int64_t>(found - value) >= 0;
        case ACL_VALUE_WAIT_EQ: return found == value;
        case ACL_VALUE_WAIT_AND: return (found & value) != 0;
        default: return ~(found | value) != 0;
    }
}

// A word that streams write and wait for at the same time. It is in memory that may be freed meanwhile.
class Word {
   public:
    explicit Word(void* address)
        : range_("devAddr", require_aligned(address), sizeof(uint64_t), Side::device, "ACL_MEMCPY_DEVICE_TO_DEVICE") {}

    auto use(auto action) const {
        std::optional<MemoryUse> use;
        range_.hold(use);
        return action(reinterpret_cast<std::atomic<uint64_t>&>(*static_cast<uint64_t*>(range_.view())));
    }

    std::vector<MemoryAccess> accesses(bool is_write) const {
        std::vector<MemoryAccess> accesses;
        range_.add_access(accesses, is_write);
        return accesses;
    }

   private:
    static void* require_aligned(void* address) {
        require_pointer("devAddr", address);
        if (reinterpret_cast<uintptr_t>(address) % alignof(uint64_t) != 0)
            refuse(ACL_ERROR_RT_PARAM_INVALID, "devAddr", "a multiple of 8", text(address));
        return address;
    }

    MemoryRange range_;
};

class Write final : public NamedTask {
   public:
    Write(void* address, uint64_t value) : NamedTask("aclrtValueWrite"), word_(address), value_(value) {}
    std::vector<MemoryAccess> accesses() const override { return word_.accesses(true); }
    void run() override {
        word_.use([this](std::atomic<uint64_t>& word) { word.store(value_, std::memory_order_release); });
    }

   private:
    const Word word_;
    const uint64_t value_;
};

class Wait final : public WaitingTask {
   public:
    Wait(void* address, uint64_t value, uint32_t comparison, const Device& device)
        : WaitingTask("aclrtValueWait"), word_(address), value_(value), comparison_(comparison), device_(device) {}
    std::vector<MemoryAccess> accesses() const override { return word_.accesses(false); }
    void run() override {
        const auto is_over = [this](const std::atomic<uint64_t>& word) {
            return is_met(word.load(std::memory_order_acquire), value_, comparison_);
        };
        auto end = Stream::kForever;
        while (!word_.use(is_over)) {
            if (end == Stream::kForever && device_.is_resetting()) end = Completion::Clock::now() + kResetPause;
            if (Completion::Clock::now() > end)
                throw Error(ACL_ERROR_RT_AICORE_EXCEPTION, text("aclrtValueWait: device ", device_.index(),
                                                                " is being reset, and nothing has written what is waited for, ", value_));
            std::this_thread::sleep_for(kValuePause);
        }
    }

   private:
    const Word word_;
    const uint64_t value_;
    const uint32_t comparison_;
    const Device& device_;
};

}  // namespace
}  // namespace torch_aclnn::host

using namespace torch_aclnn::host;

extern "C" TORCH_ACLNN_HOST_API aclError aclrtValueWrite(void* devAddr, uint64_t value, uint32_t flag, aclrtStream stream) {
    return traced(can_fail(__func__), call_arguments("devAddr", devAddr, "value", value, "flag", flag).on(stream), [&] {
        if (flag != 0) refuse(ACL_ERROR_RT_PARAM_INVALID, "flag", "0", std::to_string(flag));
        find_usable_stream(stream)->submit(std::make_unique<Write>(devAddr, value));
    });
}

extern "C" TORCH_ACLNN_HOST_API aclError aclrtValueWait(void* devAddr, uint64_t value, uint32_t flag, aclrtStream stream) {
    return traced(can_fail(__func__), call_arguments("devAddr", devAddr, "value", value, "flag", flag).on(stream), [&] {
        if (flag > ACL_VALUE_WAIT_NOR) refuse(ACL_ERROR_RT_PARAM_INVALID, "flag", "a value in 0..3", std::to_string(flag));
        const auto found = find_usable_stream(stream);
        auto wait = std::make_unique<Wait>(devAddr, value, flag, find_device("stream", found->device()));
        found->submit_waiting(*wait);
        (void)wait.release();  // the stream finishes it
    });
}
