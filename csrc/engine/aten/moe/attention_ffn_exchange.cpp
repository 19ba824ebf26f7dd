// Tokens between the devices with the attention of a model and those with its experts, which write into each other's windows. What is
// written there is what the workers of the other side find (attention_ffn_workers.cpp): numbers about the tokens, and the tokens behind
// them, from the next 512 bytes on.

#include "engine/aten/moe/expert_parallel.h"
#include "engine/aten/quantization/packed_integers.h"
#include "engine/runtime/memory/host_view.h"
#include "vocabulary/moe/attention_ffn_exchange_calls.h"

namespace {

using torch_aclnn::host::Window;
using torch_aclnn::host::Windows;

int64_t product_of(const char* name, at::IntArrayRef sizes, int64_t factor) {
    for (const int64_t size : sizes)
        if (__builtin_mul_overflow(factor, size, &factor)) refuse(name, "sizes whose product memory can hold", c10::str(sizes));
    return factor;
}

// A rank's window, divided as the shapes say.
class Table {
   public:
    Table(const Window& window, const char* const* names, at::IntArrayRef info, at::IntArrayRef data, int64_t item)
        : row_(data.back() * item) {
        const int64_t behind = aligned(product_of(names[0], info, 4), 512), bytes = product_of(names[1], data, item);
        if (bytes < 0 || behind < 0 || uint64_t(behind) + uint64_t(bytes) > window.bytes)
            refuse(names[1], c10::str("what fits into the ", window.bytes, " bytes of the window"), c10::str(data));
        info_ = reinterpret_cast<int32_t*>(torch_aclnn::host::host_view(window.data));
        data_ = reinterpret_cast<char*>(info_) + behind;
    }
    int32_t* info(int64_t place) const { return info_ + place; }
    char* row(int64_t place) const { return data_ + place * row_; }

   private:
    int64_t row_;
    int32_t* info_;
    char* data_;
};
// Sets a flag after everything that was written before it, so that a reader of the flag sees all of that.
void set(int32_t* flag) {
    __atomic_store_n(flag, 1, __ATOMIC_RELEASE);
}

const Window& window_of(const Windows& windows, const char* name, int64_t rank) {
    const auto found = windows.others.find(static_cast<int>(rank));
    if (found == windows.others.end()) refuse(name, "ranks whose windows are open here", std::to_string(rank));
    return found->second;
}
int64_t index_of(const char* name, int64_t index, int64_t count) {
    if (index < 0 || index >= count) refuse(name, c10::str("values in 0..", count - 1), std::to_string(index));
    return index;
}
void require_table(const char* name, at::IntArrayRef got, at::IntArrayRef expected) {
    if (got != expected) refuse(name, c10::str(expected), c10::str(got));
}

// A token has a copy for each expert that it has chosen, followed by one for each shared expert.
struct Copies {
    int64_t tokens, chosen, shared;
    int64_t of_each() const { return chosen + shared; }
    Copies(const at::Tensor& expert_ids, const at::Tensor& table, int64_t experts)
        : tokens(expert_ids.size(1)), chosen(expert_ids.size(2)), shared(table.size(1) - experts) {}
};

// The bytes of each copy of the tokens: a token as it is, or numbers of 8 bits with their scale behind them.
struct Rows {
    at::Tensor numbers, scales;
    Rows(const at::Tensor& x, const at::Tensor& experts, bool quantised, const OptTensor& factors) {
        numbers = x.unsqueeze(1).expand({x.size(0), experts.size(1), x.size(1)}).reshape({-1, x.size(1)});
        if (!quantised) return;
        at::Tensor exact = to_double(numbers);
        if (given(factors)) exact = exact * to_double(factors->index_select(0, experts.flatten()));
        const DynamicallyQuantised result = quantise_rows(exact, 127);
        numbers = at::round(result.numbers).to(at::kChar).contiguous();
        scales = result.scale.to(at::kFloat).contiguous();
    }
    void copy(int64_t row, char* to) const {
        const int64_t bytes = numbers.stride(0) * numbers.element_size();
        std::memcpy(to, static_cast<const char*>(numbers.const_data_ptr()) + row * bytes, bytes);
        if (scales.defined()) std::memcpy(to + bytes, scales.const_data_ptr<float>() + row, sizeof(float));
    }
};

const char* const kFfnNames[] = {"ffnTokenInfoTableShape", "ffnTokenDataShape"};
const char* const kAttentionNames[] = {"tokenInfoTableShape", "tokenDataShape"};

}  // namespace

static void check(const call::AttentionToFFN& a) {
    require_ranks("worldSize", a.worldSize, *a.group);
    const at::IntArrayRef info = a.ffnTokenInfoTableShape, data = a.ffnTokenDataShape;
    if (a.expertRankTable.size(1) < a.moeExpertNum || a.expertRankTable.size(2) < 3)
        refuse("expertRankTable", c10::str(a.moeExpertNum, " experts or more, each with a place"), shape_text(a.expertRankTable.sizes()));
    if (a.quantMode == 0) require_not_given("scales", a.scales);
    const Copies copies(a.expertIds, a.expertRankTable, a.moeExpertNum);
    const int64_t room = a.x.size(2) + (a.quantMode == 2 ? 4 : 0);
    require_table("ffnTokenInfoTableShape", info, {info[0], info[1], 2 + copies.tokens * copies.of_each()});
    require_table("ffnTokenDataShape", data, {info[0], info[1], copies.tokens, copies.of_each(), std::max(data[4], room)});
    require_table("attnTokenInfoTableShape", a.attnTokenInfoTableShape, {info[1], copies.tokens, copies.of_each()});
    a.group->set_record(OperationKind::attention_to_ffn, a.x.scalar_type(), a.x.numel());
}
// It is not published from which rank the table counts where the experts do not begin at the first rank. syncFlag makes no difference to
// what the windows receive. Nothing comes back for tokens that are not sent, so their results count as received.
static void compute(const call::AttentionToFFN& a) {
    const auto windows = a.group->windows();
    const Copies copies(a.expertIds, a.expertRankTable, a.moeExpertNum);
    const int64_t item = a.quantMode == 2 ? 1 : 2, each = copies.of_each(), tables = a.expertRankTable.size(2);
    const std::vector<int64_t> session_ids = numbers(a.sessionId), batch_ids = numbers(a.microBatchId), layers = numbers(a.layerId);
    for (int64_t i = 0; i < a.x.size(0); i++) {
        const int64_t session = index_of("sessionId", session_ids[i], a.ffnTokenInfoTableShape[0]);
        const int64_t batch = index_of("microBatchId", batch_ids[i], a.ffnTokenInfoTableShape[1]);
        const int64_t layer = index_of("layerId", layers[i], a.expertRankTable.size(0));
        const int64_t info = (session * a.ffnTokenInfoTableShape[1] + batch) * a.ffnTokenInfoTableShape[2];
        const int64_t first = (session * a.ffnTokenInfoTableShape[1] + batch) * copies.tokens * each;
        const at::Tensor shared =
            at::arange(a.moeExpertNum, a.moeExpertNum + copies.shared, at::kLong).expand({copies.tokens, copies.shared});
        const at::Tensor experts = at::cat({a.expertIds[i].to(at::kLong), shared}, 1);
        const std::vector<int64_t> of_copies = numbers(experts), table = numbers(a.expertRankTable[layer]);
        for (int64_t copy = 0; copy < copies.tokens * each; copy++)
            index_of("expertIds", of_copies[copy], copy % each < copies.chosen ? a.moeExpertNum : a.expertRankTable.size(1));
        const Rows rows(a.x[i], experts, a.quantMode == 2, given(a.scales) ? OptTensor((*a.scales)[layer]) : std::nullopt);
        const std::vector<int64_t> active = numbers(given(a.activeMask) ? (*a.activeMask)[i] : at::ones({copies.tokens}, at::kLong));
        for (int64_t copy = 0; copy < copies.tokens * each; copy++) {
            if (active[copy / each] == 0) {
                const Table back(windows->own, kAttentionNames, a.attnTokenInfoTableShape, {0}, 1);
                set(back.info(batch * copies.tokens * each + copy));
                continue;
            }
            const int64_t* const places = &table[of_copies[copy] * tables];
            if (places[0] < 1 || places[0] > (tables - 1) / 2)
                refuse("expertRankTable", c10::str("1 to ", (tables - 1) / 2, " places of each expert"), std::to_string(places[0]));
            const int64_t* const place = places + 1 + 2 * (session % places[0]);
            const Table to(window_of(*windows, "expertRankTable", place[0]), kFfnNames, a.ffnTokenInfoTableShape, a.ffnTokenDataShape,
                           item);
            rows.copy(copy, to.row(first + copy));
            *to.info(info + 2 + copy) = static_cast<int32_t>(place[1]);
        }
        for (const auto& [rank, window] : windows->others) {
            const Table to(window, kFfnNames, a.ffnTokenInfoTableShape, a.ffnTokenDataShape, item);
            *to.info(info + 1) = static_cast<int32_t>(layer);
            set(to.info(info));
        }
    }
}

static void check(const call::FFNToAttention& a) {
    require_ranks("worldSize", a.worldSize, *a.group);
    require_table(
        "tokenDataShape", a.tokenDataShape,
        {a.tokenInfoTableShape[0], a.tokenInfoTableShape[1], a.tokenInfoTableShape[2], std::max(a.tokenDataShape[3], size_of(a.x, 1))});
    a.group->set_record(OperationKind::ffn_to_attention, a.x.scalar_type(), a.x.numel());
}
static void compute(const call::FFNToAttention& a) {
    const auto windows = a.group->windows();
    const int64_t count = index_of("actualTokenNum", a.actualTokenNum.item<int64_t>(), a.x.size(0) + 1), bytes = a.x.size(1) * 2;
    const std::vector<int64_t> sessions = numbers(a.sessionIds), batches = numbers(a.microBatchIds), tokens = numbers(a.tokenIds),
                               offsets = numbers(a.expertOffsets);
    const std::vector<int64_t> table = given(a.attnRankTable) ? numbers(*a.attnRankTable) : std::vector<int64_t>();
    const at::Tensor rows = a.x.contiguous();
    for (int64_t row = 0; row < count; row++) {
        const int64_t session = given(a.attnRankTable) ? index_of("sessionIds", sessions[row], int64_t(table.size())) : sessions[row];
        const int64_t place = (index_of("microBatchIds", batches[row], a.tokenInfoTableShape[0]) * a.tokenInfoTableShape[1] +
                               index_of("tokenIds", tokens[row], a.tokenInfoTableShape[1])) *
                                  a.tokenInfoTableShape[2] +
                              index_of("expertOffsets", offsets[row], a.tokenInfoTableShape[2]);
        const Window& window = window_of(*windows, "sessionIds", given(a.attnRankTable) ? table[session] : session);
        const Table to(window, kAttentionNames, a.tokenInfoTableShape, a.tokenDataShape, 2);
        std::memcpy(to.row(place), static_cast<const char*>(rows.const_data_ptr()) + row * bytes, bytes);
        set(to.info(place));
    }
}
