// What a device that has the attention, or the experts, of a model knows of its window, into which those of the other kind write tokens:
// the memory that torch_npu's ScheduleContextHolder (torch_npu._afd) fills, and operators read and advance.
#pragma once

#include <chrono>

#include "engine/aten/adapter/relations.h"
#include "engine/runtime/memory/device_memory.h"
#include "engine/runtime/memory/host_view.h"

namespace torch_aclnn::host::aten {

struct WorkerBuffer {
    uint64_t address, bytes;
};
struct WorkerContext {
    uint32_t session_num, micro_batch_num, micro_batch_size, selected_expert_num;  // a session is a device with the attention
    uint32_t expert_num, attn_to_ffn_token_size, ffn_to_attn_token_size;           // the sizes are in bytes
    int32_t schedule_mode;
    char reserved_of_all[96];
    int32_t run_flag;
    char reserved_of_control[124];
    WorkerBuffer attention_info, attention_data;
    uint32_t micro_batch_id;
    char reserved_of_attention[92];
    WorkerBuffer ffn_info, ffn_data;
    uint64_t polling_index;
    char reserved_of_ffn[88];
    WorkerBuffer layer_ids, session_ids, micro_batch_ids, expert_ids;
    uint32_t out_num;
    char reserved_of_output[60 + 384];

    int64_t copies() const { return product_of({micro_batch_size, selected_expert_num}); }
    // What a session has written about a micro batch: a flag, the layer, and for each copy of a token the number of its expert.
    int32_t* described_by(int32_t* info, int64_t session, int64_t micro_batch) const {
        return info + (session * micro_batch_num + micro_batch) * (2 + copies());
    }
    static int64_t product_of(std::initializer_list<int64_t> counts) {
        int64_t product = 1;
        for (const int64_t count : counts)
            if (__builtin_mul_overflow(product, count, &product) || product > (int64_t{1} << 48))
                refuse("scheduleContext", "numbers whose product memory can hold", "larger ones");
        return product;
    }
};
static_assert(sizeof(WorkerContext) == 1024);

inline void require_worker_context(const char* name, const at::Tensor& context) {
    if (context.numel() < int64_t{sizeof(WorkerContext)} || !context.is_contiguous())
        refuse(name, c10::str(sizeof(WorkerContext), " elements or more, in the order of their places"),
               c10::str(shape_text(context.sizes()), " with strides ", context.strides()));
}
// Reads the context from memory again, because the program may change it while an operator waits.
inline WorkerContext load_worker_context(const at::Tensor& tensor) {
    require_worker_context("scheduleContext", tensor);
    WorkerContext context;
    std::memcpy(&context, tensor.data_ptr(), sizeof context);
    return context;
}
template <class Field>
void store_in_worker_context(const at::Tensor& tensor, Field WorkerContext::* field, Field value) {
    const WorkerContext origin{};
    const auto offset = reinterpret_cast<const char*>(&(origin.*field)) - reinterpret_cast<const char*>(&origin);
    std::memcpy(static_cast<char*>(tensor.data_ptr()) + offset, &value, sizeof value);
}

// Returns the memory of this number of values, which the context names.
template <class Number>
Number* memory_of(const char* name, const WorkerBuffer& buffer, int64_t count) {
    const auto address = reinterpret_cast<Number*>(buffer.address);
    size_t bytes = 0;
    const bool fits =
        !__builtin_mul_overflow(count, sizeof(Number), &bytes) && bytes <= buffer.bytes && buffer.address % alignof(Number) == 0;
    const auto memory = fits ? device_memory_at(address, bytes) : std::nullopt;
    if (!memory || memory->reach < bytes)
        refuse(name, c10::str("device memory of ", count, " times ", sizeof(Number), " bytes"),
               c10::str(memory ? memory->reach : 0, " bytes of memory at ", reinterpret_cast<const void*>(address), ", and a size of ",
                        buffer.bytes));
    return host_view(address);
}

// Waits until the condition holds. Returns false if the program has stopped the workers instead.
bool wait_unless_stopped(const at::Tensor& context, auto condition) {
    while (load_worker_context(context).run_flag != 0) {
        if (condition()) return true;
        std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
    return false;
}
inline bool is_set(int32_t& flag) {
    return __atomic_load_n(&flag, __ATOMIC_ACQUIRE) == 1;
}

}  // namespace torch_aclnn::host::aten
