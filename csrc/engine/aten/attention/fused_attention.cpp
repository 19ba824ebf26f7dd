#include "engine/aten/attention/fused_attention.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>
#include <vector>

#include "engine/aten/numerics/temporaries.h"
#include "engine/aten/random/dropout_mask.h"

namespace torch_aclnn::host::aten {
namespace {

// Scores of a block, in float32, take so many elements: with what is made of them a half of a processor's cache.
constexpr int64_t kScoresOfBlock = int64_t{64} << 10;
// Products of fewer rows take much longer for each.
constexpr int64_t kFewestRows = 64;

at::Tensor product(const at::Tensor& left, const at::Tensor& right, double factor) {
    const at::Tensor nothing = at::empty({1, 1, 1}, left.options());  // multiplied by 0, it is not read
    return at::baddbmm(nothing, left, right, 0, factor);
}

}  // namespace

OptTensor hidden_scores(int64_t rows, int64_t columns, const AttentionOptions& o) {
    if (!o.mask) return std::nullopt;  // without a mask, modes and distances do not matter
    const bool all_near = o.before >= rows - 1 && o.after >= columns - 1;
    if (o.mode == 1 || (o.mode == 0 && all_near)) return o.mask->to(at::kBool);
    const int64_t last = o.mode > 2 ? columns - rows : 0;  // the column of the diagonal in the first row
    const at::Tensor distance = at::arange(-last, columns - last) - at::arange(rows).unsqueeze(1);
    if (o.mode == 2 || o.mode == 3) return distance > 0;
    const at::Tensor far = (distance > o.after).logical_or(distance < -o.before);
    return o.mode == 4 ? far : o.mask->to(at::kBool).logical_or(far);
}

// Some rows of heads of one batch, which are the query's.
struct FusedAttention::Block {
    int64_t batch, head, heads, row, rows;
};

// The maximum of each row of scores, and the sum of exp(score - maximum), which is 0 in a row in which nothing counts.
struct Statistics {
    at::Tensor maximum, sum;
};

// The softmax of a block's own scores. What it is multiplied by to be that of all scores, where these are more, is its share.
struct FusedAttention::Probabilities {
    at::Tensor values;
    Statistics all;
    OptTensor share;

    at::Tensor times_share(const at::Tensor& tensor) const { return share ? tensor * *share : tensor; }
};

FusedAttention::FusedAttention(at::Tensor query, at::Tensor key, at::Tensor value, const AttentionOptions& options)
    : query_(std::move(query)), key_(std::move(key)), value_(std::move(value)), options_(options) {
    const int64_t rows = query_.size(2), columns = key_.size(2);
    const at::DimVector all{query_.size(0), query_.size(1), rows, columns};
    sharing_ = query_.size(1) / key_.size(1);
    shift_factor_ = options.shift_type == 1 ? options.scale : 1;
    is_triangle_ = options.mask && (options.mode == 2 || options.mode == 3);
    first_ = options.mode == 3 ? columns - rows + 1 : 1;
    if (!is_triangle_) hidden_ = hidden_scores(rows, columns, options);
    if (hidden_) hidden_ = hidden_->expand(all);
    if (!options.drop_mask || options.drop_mask->numel() == 0) return;
    const int64_t scores = c10::multiply_integers(all);
    kept_ = unpacked_dropout_mask(*options.drop_mask, {options.first_drop_bit + scores}).slice(0, options.first_drop_bit).view(all);
}

bool FusedAttention::has_whole_shift() const {
    return options_.shift && options_.shift_type < 2 && (options_.shift->size(2) == 1 || options_.shift->size(2) == query_.size(2));
}

at::Tensor FusedAttention::of_rows(const at::Tensor& tensor, const Block& block) const {
    return tensor.select(0, block.batch).narrow(0, block.head, block.heads).narrow(1, block.row, block.rows);
}

at::Tensor FusedAttention::of_key_heads(const at::Tensor& tensor, const Block& block) const {
    return tensor.select(0, block.batch).narrow(0, block.head / sharing_, block.heads / sharing_);
}

at::Tensor FusedAttention::for_every_head(const at::Tensor& tensor, const Block& block) const {
    const at::Tensor own = upcast(of_key_heads(tensor, block));
    return sharing_ == 1 ? own : own.repeat_interleave(sharing_, 0);
}

// Returns how many of the columns some row of the block sees; at least one, if there is any, so that rows have a maximum.
int64_t FusedAttention::columns_seen(const Block& block) const {
    const int64_t columns = key_.size(2);
    return is_triangle_ && columns > 0 ? std::clamp<int64_t>(block.row + block.rows - 1 + first_, 1, columns) : columns;
}

// Calls `use` with parts of all heads, and of all rows if threads would be idle else, which threads take.
template <class Use>
void FusedAttention::for_each_part(bool may_part_rows, Use use) const {
    const int64_t batches = query_.size(0), heads = query_.size(1), rows = query_.size(2), threads = at::get_num_threads();
    const int64_t fitting = kScoresOfBlock / std::max<int64_t>(1, rows * key_.size(2)), fair = at::divup(batches * heads, threads);
    const int64_t heads_of_part = std::max<int64_t>(1, std::min({fitting, fair, heads}) / sharing_) * sharing_;
    const int64_t parts_of_heads = at::divup(heads, heads_of_part);
    const bool parts_rows = may_part_rows && batches * parts_of_heads < threads && rows > kFewestRows;
    const int64_t parts_of_rows = parts_rows ? std::min(threads, at::divup(rows, kFewestRows)) : 1;
    at::parallel_for(0, batches * parts_of_heads * parts_of_rows, 1, [&](int64_t begin, int64_t end) {
        const TemporariesAreKept kept;
        for (int64_t part = begin; part < end; part++) {
            const int64_t row = rows * (part % parts_of_rows) / parts_of_rows, next = rows * (part % parts_of_rows + 1) / parts_of_rows;
            const int64_t head = part / parts_of_rows % parts_of_heads * heads_of_part;
            use(Block{part / parts_of_rows / parts_of_heads, head, std::min(heads_of_part, heads - head), row, next - row});
        }
    });
}

// Calls `use` with the blocks of a part, one after the other.
template <class Use>
void FusedAttention::for_each_block(const Block& part, Use use) const {
    const int64_t rows = is_triangle_ ? kFewestRows : std::max(kFewestRows, kScoresOfBlock / std::max<int64_t>(1, sharing_ * key_.size(2))),
                  end = part.row + part.rows;
    for (int64_t row = part.row; row < end; row += rows) use(Block{part.batch, part.head, part.heads, row, std::min(rows, end - row)});
}

at::Tensor FusedAttention::scores(const Block& block, const at::Tensor& query, const at::Tensor& key) const {
    const at::Tensor scores = product(query, key.transpose(1, 2), options_.scale);
    if (options_.shift) scores.add_(shift_of(block, scores.size(2)), shift_factor_);
    hide(scores, block);
    return scores;
}

// The ends of rows are filled by copies, which takes a tenth of the time of masked_fill_, which goes from element to element.
void FusedAttention::hide(const at::Tensor& scores, const Block& block) const {
    if (hidden_) scores.masked_fill_(of_rows(*hidden_, block), -INFINITY);
    if (!is_triangle_) return;
    const int64_t columns = scores.size(2);
    const std::vector<float> infinite(columns, -INFINITY);
    auto* row = scores.data_ptr<float>();
    for (int64_t i = 0; i < block.heads * block.rows; i++, row += columns) {
        const int64_t seen = std::clamp<int64_t>(block.row + i % block.rows + first_, 0, columns);
        std::memcpy(row + seen, infinite.data(), (columns - seen) * sizeof(float));
    }
}

at::Tensor FusedAttention::sink_of(const Block& block) const {
    return upcast(*options_.sink).narrow(0, block.head, block.heads).view({-1, 1, 1});
}

// Where only the last rows are given, they depend on distances only: an earlier row has what the first of them has as many columns further.
at::Tensor FusedAttention::shift_of(const Block& block, int64_t columns) const {
    const bool is_slope = options_.shift_type > 1;
    const at::Tensor batches = is_slope ? options_.shift->view({-1, query_.size(1), 1, 1}) : *options_.shift;
    const at::Tensor given = batches.select(0, batches.size(0) == 1 ? 0 : block.batch).narrow(0, block.head, block.heads);
    if (is_slope) {
        const at::Tensor rows = at::arange(block.row, block.row + block.rows).unsqueeze(1) + options_.shift_start;
        const at::Tensor distance = (at::arange(columns) - rows).abs_().to(at::kFloat);
        return given * (options_.shift_type == 3 ? distance.sqrt_() : distance).neg_();
    }
    if (given.size(1) == 1) return upcast(given.narrow(2, 0, columns));
    const int64_t first = query_.size(2) - given.size(1);
    if (first == 0) return upcast(given.narrow(1, block.row, block.rows).narrow(2, 0, columns));
    const at::Tensor shift = at::zeros({block.heads, block.rows, columns});
    for (int64_t i = 0; i < block.rows; i++) {
        const int64_t ahead = std::max<int64_t>(0, first - block.row - i), count = std::min(columns, given.size(2) - ahead);
        shift.select(1, i).narrow(1, 0, count).copy_(given.select(1, block.row + i + ahead - first).narrow(1, ahead, count));
    }
    return shift;
}

void FusedAttention::drop_out(const at::Tensor& scores, const Block& block) const {
    if (kept_) scores.mul_(of_rows(*kept_, block).narrow(2, 0, scores.size(2))).div_(options_.keep_probability);
}

FusedAttention::Probabilities FusedAttention::probabilities(const at::Tensor& scores, const Block& block,
                                                            const AttentionResults& given) const {
    Probabilities p;
    if (scores.size(2) == 0) {
        const at::Tensor zeros = scores.sum(2, true);
        p = {scores, {zeros - INFINITY, zeros}, std::nullopt};
    } else {
        p.values = at::softmax(scores, 2);
        p.all = {scores.amax(2, true), p.values.amax(2, true).reciprocal_()};  // the largest score's probability is 1 / sum
    }
    const at::Tensor is_nothing = p.all.maximum == -INFINITY;
    if (is_nothing.any().item<bool>()) {
        p.values.masked_fill_(is_nothing, 0);
        p.all.sum.masked_fill_(is_nothing, 0);
    }
    const Statistics own = p.all;
    if (given.maximum && given.sum) {
        p.all = {of_rows(*given.maximum, block).narrow(2, 0, 1), of_rows(*given.sum, block).narrow(2, 0, 1)};
    } else if (options_.sink) {
        p.all.maximum = at::maximum(own.maximum, sink_of(block));
        p.all.sum = own.sum * at::exp(own.maximum - p.all.maximum) + at::exp(sink_of(block) - p.all.maximum);
    } else {
        return p;
    }
    p.share = (at::exp(own.maximum - p.all.maximum) * own.sum / p.all.sum).masked_fill_(is_nothing, 0);
    return p;
}

void FusedAttention::write_results(const AttentionResults& out) const {
    for_each_part(true, [&](const Block& part) {
        const at::Tensor key = for_every_head(key_, part), value = for_every_head(value_, part);
        for_each_block(part, [&](const Block& block) {
            const int64_t seen = columns_seen(block);
            const at::Tensor query = upcast(of_rows(query_, block));
            const Probabilities p = probabilities(scores(block, query, key.narrow(1, 0, seen)), block, {});
            drop_out(p.values, block);
            of_rows(*out.result, block).copy_(p.times_share(at::bmm(p.values, value.narrow(1, 0, seen))));
            if (out.maximum) of_rows(*out.maximum, block).copy_(p.all.maximum.expand({-1, -1, out.maximum->size(3)}));
            if (out.sum) of_rows(*out.sum, block).copy_(p.all.sum.expand({-1, -1, out.sum->size(3)}));
        });
    });
}

at::Tensor FusedAttention::write_gradients(const at::Tensor& dy, const AttentionResults& given, const AttentionGradients& out) const {
    const at::Tensor of_sinks = at::zeros({query_.size(0), query_.size(1)});
    OptTensor of_shift;  // of each batch, since threads take different ones
    if (out.shift) of_shift = at::zeros({query_.size(0), query_.size(1), out.shift->size(2), key_.size(2)});
    for_each_part(false, [&](const Block& part) {
        const at::Tensor key = for_every_head(key_, part), value = for_every_head(value_, part);
        const at::Tensor of_key = at::zeros_like(key), of_value = at::zeros_like(value);
        for_each_block(part, [&](const Block& block) {
            const int64_t seen = columns_seen(block);
            const auto of_seen = [seen](const at::Tensor& tensor) { return tensor.narrow(1, 0, seen); };
            const at::Tensor query = upcast(of_rows(query_, block)), own_grad = upcast(of_rows(dy, block));
            const Probabilities p = probabilities(scores(block, query, of_seen(key)), block, given);
            // The share is a factor of the gradient, which has fewer elements than the probabilities.
            const at::Tensor grad = p.times_share(own_grad), of_values = at::bmm(grad, of_seen(value).transpose(1, 2));
            drop_out(of_values, block);
            const at::Tensor mean =
                given.result ? (own_grad * of_rows(*given.result, block)).sum(2, true) : (of_values * p.values).sum(2, true);
            if (options_.sink)
                of_sinks.select(0, block.batch)
                    .narrow(0, block.head, block.heads)
                    .sub_((at::exp(sink_of(block) - p.all.maximum) / p.all.sum * mean).sum({1, 2}));
            const at::Tensor of_scores = of_values.sub_(p.times_share(mean)).mul_(p.values);
            if (of_shift) {
                const at::Tensor own = of_shift->select(0, block.batch).narrow(0, block.head, block.heads).narrow(2, 0, seen);
                const bool is_shared = own.size(1) == 1;
                (is_shared ? own : own.narrow(1, block.row, block.rows))
                    .add_(is_shared ? of_scores.sum(1, true) : of_scores, shift_factor_);
            }
            drop_out(p.values, block);
            of_rows(out.query, block).copy_(product(of_scores, of_seen(key), options_.scale));
            of_seen(of_key).baddbmm_(of_scores.transpose(1, 2), query, 1, options_.scale);
            of_seen(of_value).baddbmm_(p.values.transpose(1, 2), grad);
        });
        const auto write_of_key_heads = [&](const at::Tensor& place, const at::Tensor& gradient) {
            of_key_heads(place, part).copy_(sharing_ == 1 ? gradient : gradient.unflatten(0, at::IntArrayRef{-1, sharing_}).sum(1));
        };
        write_of_key_heads(out.key, of_key);
        write_of_key_heads(out.value, of_value);
    });
    if (of_shift) out.shift->copy_(of_shift->sum_to_size(out.shift->sizes()));
    return of_sinks.sum(0);
}

}  // namespace torch_aclnn::host::aten
