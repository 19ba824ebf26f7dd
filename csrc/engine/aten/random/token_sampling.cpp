// Which of the next tokens count, and which one is taken: the most likely ones by number (k), by their share (p), and by their likelihood
// beside the most likely one's (min p).

#include "vocabulary/random/token_sampling_calls.h"

namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity();

struct SamplingOptions {
    double epsilon;
    bool gives_logits;
    int64_t most_k;
    bool are_logits, gives_sorted;
};
struct SamplingResults {
    const at::Tensor& index;
    const OptTensor &logits, &order, &likelihoods;
};

// The tokens of one sequence, the most likely first, without those that do not count.
struct Candidates {
    at::Tensor likelihoods, order;

    Candidates(const at::Tensor& logits, int64_t k, double p, double min_p, const SamplingOptions& o) {
        const int64_t most = std::min<int64_t>(std::min<int64_t>((o.most_k + 7) / 8 * 8, 1024), logits.numel());
        const bool by_number = k >= 1 && k <= most, by_share = p < 1;
        const bool sorted = by_number || by_share || min_p >= 1;  // otherwise they stay in their order
        order = at::arange(logits.numel());
        likelihoods = logits;
        if (sorted) std::tie(likelihoods, order) = at::sort(logits, true, 0, true);
        if (by_number) keep(at::arange(logits.numel()).lt(k));
        if (o.are_logits) likelihoods = at::softmax(likelihoods, 0);
        if (by_share) keep((likelihoods.cumsum(0) - likelihoods).lt(p).logical_or(at::arange(likelihoods.numel()).eq(0)));
        if (min_p >= 1) keep(at::arange(likelihoods.numel()).eq(0));
        if (min_p > 0 && min_p < 1) keep(likelihoods.ge(likelihoods.max() * min_p));
    }
    void keep(const at::Tensor& these) {
        likelihoods = likelihoods.masked_select(these);
        order = order.masked_select(these);
    }
};

void sample(const at::Tensor& logits, const at::Tensor& ks, const at::Tensor& ps, const OptTensor& q, const OptTensor& min_ps,
            const SamplingOptions& o, const SamplingResults& to) {
    if (o.gives_logits) to.logits->fill_(o.are_logits ? kNever : 0);
    to.index.zero_();
    for (int64_t i = 0; i < logits.size(0); i++) {
        const at::Tensor own = upcast(logits[i]);
        const double min_p = min_ps ? (*min_ps)[i].item<double>() : 0;
        const Candidates kept(own, ks[i].item<int64_t>(), ps[i].item<double>(), min_p, o);
        const int64_t count = kept.order.numel();
        if (o.gives_logits) to.logits->select(0, i).index_copy_(0, kept.order, own.index_select(0, kept.order));
        if (o.gives_sorted) {
            to.order->select(0, i).zero_().narrow(0, 0, count).copy_(kept.order);
            to.likelihoods->select(0, i).zero_().narrow(0, 0, count).copy_(kept.likelihoods);
        } else {
            const at::Tensor chances = q ? kept.likelihoods / ((*q)[i].narrow(0, 0, count).abs() + o.epsilon) : kept.likelihoods;
            to.index[i].copy_(kept.order[chances.argmax().item<int64_t>()]);
        }
    }
}

}  // namespace

static void compute(const call::ApplyTopKTopP& a) {
    const int64_t tokens = a.logits.size(1);
    auto [kept, order] = at::sort(upcast(a.logits), true, 1, false);
    if (a.k) {
        require_range("k", *a.k, 1, tokens + 1);
        kept = kept.masked_fill(kept.lt(kept.gather(1, (tokens - a.k->to(at::kLong)).unsqueeze(1))), kNever);
    }
    if (a.p) {
        at::Tensor dropped = at::softmax(kept, 1).cumsum(1).le(1 - upcast(*a.p).unsqueeze(1));
        dropped.select(1, tokens - 1).fill_(false);
        kept = kept.masked_fill(dropped, kNever);
    }
    write(a.out, at::empty_like(kept).scatter_(1, order, kept));
}
