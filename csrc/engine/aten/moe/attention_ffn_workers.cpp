// Models whose attention and experts are on devices of their own: each side makes ready what the other has written into its window.

#include "engine/aten/adapter/adapter.h"
#include "engine/aten/moe/expert_parallel.h"
#include "engine/aten/moe/worker_context.h"

using namespace torch_aclnn::host::aten;

namespace {

constexpr int32_t kNoExpert = std::numeric_limits<int32_t>::max();  // torch_npu fills the window with it
constexpr int32_t kExpertsEnd = 1'000'000;                          // op-plugin's test counts numbers below this as experts

// The copies of tokens that sessions have sent for one micro batch, each with its expert.
struct Arrived {
    std::vector<int32_t> layers, sessions, micro_batches, experts;
};

// Waits for the next micro batch that all sessions of a group have sent. One group takes the micro batches in turns; which of several
// groups comes first is not published: the engine goes round, from the one behind the last.
Arrived await_group(const at::Tensor& tensor, int64_t group_size) {
    const WorkerContext context = load_worker_context(tensor);
    Arrived arrived;
    if (context.run_flag == 0) return arrived;
    const int64_t sessions = context.session_num, micro_batches = context.micro_batch_num, copies = context.copies();
    if (group_size > sessions || sessions % group_size != 0)
        refuse("syncGroupSize", c10::str("a divisor of the ", sessions, " sessions"), std::to_string(group_size));
    const int64_t groups = sessions / group_size, turns = groups * micro_batches;
    int32_t* const info = memory_of<int32_t>("token_info_buf", context.ffn_info, context.product_of({sessions, micro_batches, 2 + copies}));
    int64_t turn = 0;
    const auto is_complete = [&](int64_t ahead) {
        turn = int64_t((context.polling_index + uint64_t(ahead)) % uint64_t(turns));
        for (int64_t i = 0; i < group_size; i++)
            if (!is_set(*context.described_by(info, turn % groups * group_size + i, turn / groups))) return false;
        return true;
    };
    const auto any_is_complete = [&] {
        for (int64_t ahead = 0; ahead < (groups == 1 ? 1 : turns); ahead++)
            if (is_complete(ahead)) return true;
        return false;
    };
    if (turns == 0 || !wait_unless_stopped(tensor, any_is_complete)) return arrived;
    for (int64_t i = 0; i < group_size; i++) {
        const int64_t session = turn % groups * group_size + i, micro_batch = turn / groups;
        int32_t* const described = context.described_by(info, session, micro_batch);
        arrived.layers.push_back(described[1]);
        arrived.sessions.push_back(int32_t(session));
        arrived.micro_batches.push_back(int32_t(micro_batch));
        arrived.experts.insert(arrived.experts.end(), described + 2, described + 2 + copies);
        // The next micro batch shall find no experts of this one.
        std::fill_n(described + 2, copies, kNoExpert);
        __atomic_store_n(described, 0, __ATOMIC_RELEASE);
    }
    store_in_worker_context(tensor, &WorkerContext::polling_index, uint64_t(turn + 1) % uint64_t(turns));
    return arrived;
}

// Reads what await_group() has left in the buffers of the context.
Arrived from_buffers(const WorkerContext& context) {
    const auto copy_of = [](const char* name, const WorkerBuffer& buffer, int64_t count) {
        const int32_t* const first = memory_of<int32_t>(name, buffer, count);
        return std::vector<int32_t>(first, first + count);
    };
    const int64_t count = context.out_num;
    return {{},
            copy_of("session_ids_buf", context.session_ids, count),
            copy_of("micro_batch_ids_buf", context.micro_batch_ids, count),
            copy_of("expert_ids_buf", context.expert_ids, context.product_of({count, context.copies()}))};
}

// The copies that the experts of this device compute, in the order of the experts and, for each, of arrival.
std::vector<int64_t> copies_by_expert(const std::vector<int32_t>& experts) {
    std::vector<int64_t> order;
    for (size_t i = 0; i < experts.size(); i++)
        if (experts[i] >= 0 && experts[i] < kExpertsEnd) order.push_back(int64_t(i));
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return experts[a] < experts[b]; });
    return order;
}

// Waits for the next micro batch whose results have come back from all experts, and makes it the context's current one.
void await_results(const at::Tensor& tensor) {
    const WorkerContext context = load_worker_context(tensor);
    if (context.run_flag == 0) return;
    const int64_t copies = context.copies();
    int32_t* const info =
        memory_of<int32_t>("token_info_buf", context.attention_info, context.product_of({context.micro_batch_num, copies}));
    if (context.micro_batch_num == 0) return;
    const uint32_t next = uint32_t((uint64_t{context.micro_batch_id} + 1) % context.micro_batch_num);
    int32_t* const flags = info + next * copies;
    if (!wait_unless_stopped(tensor, [&] { return std::all_of(flags, flags + copies, is_set); })) return;
    std::fill_n(flags, copies, 0);
    store_in_worker_context(tensor, &WorkerContext::micro_batch_id, next);
}

at::ScalarType worker_token_type(int64_t number) {
    return std::array{at::kHalf, at::kBFloat16, at::kChar}[number];
}
int64_t batched_rows(at::IntArrayRef sizes) {
    int64_t rows = 1;
    for (const int64_t size : sizes.slice(0, 3))
        if (__builtin_mul_overflow(rows, size, &rows)) refuse("maxOutShape", "a number of rows that memory can hold", c10::str(sizes));
    return rows;
}

Expected numbers_of_batch(at::IntArrayRef sizes) {
    return {{batched_rows(sizes)}, at::kInt};
}

}  // namespace

namespace torch_aclnn::host::aten::kind {
struct WorkerContextRef : InOut {
    static at::Tensor read(const char* name, aclTensor* handle) {
        at::Tensor context = InOut::read(name, handle);
        require_worker_context(name, context);
        return context;
    }
};

}  // namespace torch_aclnn::host::aten::kind

#include "vocabulary/moe/attention_ffn_workers_calls.h"

static void compute(const call::InplaceFfnWorkerScheduler& a) {
    const Arrived arrived = await_group(a.scheduleContextRef, a.syncGroupSize);
    if (arrived.sessions.empty()) return;
    const WorkerContext context = load_worker_context(a.scheduleContextRef);
    const auto give = [](const char* name, const WorkerBuffer& buffer, const std::vector<int32_t>& values) {
        std::copy(values.begin(), values.end(), memory_of<int32_t>(name, buffer, int64_t(values.size())));
    };
    give("layer_ids_buf", context.layer_ids, arrived.layers);
    give("session_ids_buf", context.session_ids, arrived.sessions);
    give("micro_batch_ids_buf", context.micro_batch_ids, arrived.micro_batches);
    give("expert_ids_buf", context.expert_ids, arrived.experts);
    store_in_worker_context(a.scheduleContextRef, &WorkerContext::out_num, uint32_t(arrived.sessions.size()));
}

// Rows of the results for which there is no token are zero.
static void write_batch(const call::FfnWorkerBatching& a, const WorkerContext& context, const Arrived& arrived) {
    const at::ScalarType type = worker_token_type(a.tokenDtype);
    const std::vector<int64_t> order = copies_by_expert(arrived.experts);
    const int64_t count = int64_t(order.size()), copies = context.copies(), stride = context.attn_to_ffn_token_size;
    const int64_t item = int64_t(at::elementSize(type)), hidden = a.maxOutShape[3], length = hidden * item;
    const bool scaled = type == at::kChar;
    if (count > a.y.size(0)) refuse("maxOutShape", c10::str("room for ", count, " tokens"), std::to_string(a.y.size(0)));
    if (count > 0 && length + (scaled ? 4 : 0) > stride)
        refuse("maxOutShape", c10::str("tokens that fit into the ", stride, " bytes of each"), c10::str(hidden, " times ", item, " bytes"));
    const int64_t bytes = context.product_of({context.session_num, context.micro_batch_num, copies, stride});
    const char* const data = count == 0 ? nullptr : memory_of<char>("token_data_buf", context.ffn_data, bytes);
    at::Tensor y = at::zeros(a.y.sizes(), type), scales = at::zeros(a.dynamicScale.sizes(), at::kFloat);
    at::Tensor places = at::zeros({4, a.y.size(0)}, at::kInt), groups = at::zeros(a.groupList.sizes(), at::kLong);
    auto place = places.accessor<int32_t, 2>();
    auto group = groups.accessor<int64_t, 2>();
    int64_t experts = 0;
    for (int64_t row = 0; row < count; row++) {
        const int64_t batch = order[row] / copies, copy = order[row] % copies, expert = arrived.experts[order[row]];
        const int64_t session = arrived.sessions[batch], micro_batch = arrived.micro_batches[batch];
        if (session < 0 || session >= context.session_num || micro_batch < 0 || micro_batch >= context.micro_batch_num)
            refuse("scheduleContext", "sessions and micro batches that it counts", c10::str(session, " and ", micro_batch));
        const char* const token = data + ((session * context.micro_batch_num + micro_batch) * copies + copy) * stride;
        std::memcpy(static_cast<char*>(y.data_ptr()) + row * length, token, length);
        if (scaled) std::memcpy(scales.data_ptr<float>() + row, token + length, sizeof(float));
        const int64_t of_token[] = {session, micro_batch, copy / context.selected_expert_num, copy % context.selected_expert_num};
        for (int64_t i = 0; i < 4; i++) place[i][row] = int32_t(of_token[i]);
        if (row == 0 || group[experts - 1][0] != expert) {
            if (experts == groups.size(0)) refuse("expertNum", "as many as there are experts among the tokens", std::to_string(experts));
            group[experts++][0] = expert;
        }
        group[experts - 1][1]++;
    }
    write(a.y, y);
    write(a.groupList, groups);
    at::Tensor* const outputs[] = {&a.sessionIds, &a.microBatchIds, &a.tokenIds, &a.expertOffsets};
    for (int64_t i = 0; i < 4; i++) write(*outputs[i], places[i]);
    write(a.dynamicScale, scales);
    a.actualTokenNum.fill_(count);
}

// The tokens that have arrived, expert by expert, and where the results belong. With needSchedule the operator waits for them itself, for
// all sessions.
static void compute(const call::FfnWorkerBatching& a) {
    const WorkerContext context = load_worker_context(a.scheduleContext);
    if (context.run_flag != 0 && (context.micro_batch_size != a.maxOutShape[1] || context.selected_expert_num != a.maxOutShape[2]))
        refuse("maxOutShape", c10::str("the context's sizes, ", context.micro_batch_size, " and ", context.selected_expert_num),
               c10::str(a.maxOutShape));
    Arrived arrived;  // empty once the workers are stopped
    if (context.run_flag != 0)
        arrived = a.needSchedule ? await_group(a.scheduleContext, std::max<int64_t>(context.session_num, 1)) : from_buffers(context);
    write_batch(a, context, arrived);
}

// The result is what the experts have made of each token, by their scales, and what the shared expert has. Any number but 1 stands for
// FLOAT16, as op-plugin takes it, whose test passes that of a torch.dtype.
static void compute(const call::AttentionWorkerCombine& a) {
    write(a.nextLayerId, a.layerId + 1);
    if (a.needSchedule) await_results(a.scheduleContext);
    const WorkerContext context = load_worker_context(a.scheduleContext);
    if (context.run_flag == 0) {
        a.y.zero_();
        return;
    }
    const int64_t tokens = context.micro_batch_size, experts = context.selected_expert_num;
    if (a.expertScales.size(0) != tokens || a.expertScales.size(1) + 1 != experts)
        refuse("expertScales", c10::str("the context's sizes, ", tokens, " and ", experts, " with the shared expert"),
               shape_text(a.expertScales.sizes()));
    if (context.micro_batch_id >= context.micro_batch_num)
        refuse("scheduleContext", c10::str("one of ", context.micro_batch_num, " micro batches"), std::to_string(context.micro_batch_id));
    // The stride is in elements of two bytes. A size too small for a token means tokens without gaps, as in op-plugin's test.
    const int64_t stride = std::max<int64_t>(context.ffn_to_attn_token_size / 2, a.hiddenSize);
    const int64_t of_batch = context.product_of({tokens, experts, stride});
    int16_t* const data =
        memory_of<int16_t>("token_data_buf", context.attention_data, context.product_of({context.micro_batch_num, of_batch}));
    const at::Tensor results = at::from_blob(data + context.micro_batch_id * of_batch, {tokens, experts, a.hiddenSize},
                                             {experts * stride, stride, 1}, at::TensorOptions(worker_token_type(a.tokenDtype == 1)));
    const at::Tensor values = upcast(results), routed = values.narrow(1, 0, experts - 1) * a.expertScales.unsqueeze(2);
    write(a.y, routed.sum(1) + values.select(1, experts - 1));
}
