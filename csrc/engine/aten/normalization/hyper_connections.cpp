// Hyper-connections whose mixing is kept doubly stochastic (mHC): n streams of a layer's input become one, and the layer's result goes back
// into the n.

#include "vocabulary/normalization/hyper_connections_calls.h"

namespace {

// A token has tensors of n streams with D features each, of n numbers, and of n times n.
Expected of_token(const at::Tensor& x, std::initializer_list<int64_t> sizes) {
    Expected expected{x.sizes().slice(0, x.dim() - 2)};
    expected.sizes.append(sizes.begin(), sizes.end());
    return expected;
}
// Returns the number of mixes of n streams, which lack the part of n times n if there are two numbers in alpha.
int64_t mixes(const at::Tensor& x, const at::Tensor& alpha) {
    const int64_t n = x.size(-2);
    return 2 * n + (alpha.numel() == 3 ? n * n : 0);
}

// Returns {tokens, ...}, with the last `behind` dimensions of the tensor and all others flattened.
at::Tensor rows(const at::Tensor& tensor, int64_t behind) {
    return upcast(tensor).flatten(0, tensor.dim() - 1 - behind);
}
// Returns alpha's number for each column of the mix.
at::Tensor factors(const at::Tensor& alpha, int64_t n) {
    const at::Tensor counts = at::tensor({n, n, n * n}, at::kLong);
    return at::repeat_interleave(upcast(alpha), counts.narrow(0, 0, alpha.numel()));
}

struct MixingOutputs {
    const at::Tensor &in, &post, &res;
    const OptTensor &inverse, &mix, &pre;
};
void mix_streams(const at::Tensor& x, const at::Tensor& phi, const at::Tensor& alpha, const at::Tensor& bias, const OptTensor& gamma,
                 double norm_epsilon, double epsilon, const MixingOutputs& to) {
    const int64_t n = x.size(-2);
    const at::Tensor streams = rows(x, 2), flat = streams.flatten(1);
    const at::Tensor mix = at::matmul(gamma ? flat * upcast(*gamma).flatten() : flat, upcast(phi).t());
    const at::Tensor inverse = at::rsqrt(flat.square().mean(1, true) + norm_epsilon);
    const at::Tensor projected = factors(alpha, n) * (mix * inverse) + upcast(bias);
    const at::Tensor pre = at::sigmoid(projected.narrow(1, 0, n)) + epsilon;
    const auto give = [](const at::Tensor& out, const at::Tensor& result) { out.copy_(result.reshape(out.sizes())); };
    give(to.in, (pre.unsqueeze(2) * streams).sum(1));
    give(to.post, 2 * at::sigmoid(projected.narrow(1, n, n)));
    alpha.numel() == 3 ? give(to.res, projected.narrow(1, 2 * n, n * n)) : void(to.res.zero_());
    if (to.inverse) give(*to.inverse, inverse);
    if (to.mix) give(*to.mix, mix);
    if (to.pre) give(*to.pre, pre);
}

// Returns a mix of the streams of the tokens: y[j] is the sum of res[i, j] x[i].
at::Tensor mixed(const at::Tensor& res, const at::Tensor& streams) {
    return at::matmul(res.transpose(1, 2), streams);
}

// Writes the sums of each step and the matrices that they have made, one step behind the other. No page states the layout, so it is the
// engine's own; the rest of the memory is zero.
void keep_steps(const OptTensor& out, const std::vector<at::Tensor>& steps) {
    if (!out) return;
    const at::Tensor all = at::stack(steps).flatten();
    out->zero_();
    out->view({-1}).narrow(0, 0, all.numel()).copy_(all);
}
int64_t steps_of(const at::Tensor& sum, int64_t tokens) {
    return tokens == 0 ? 0 : sum.numel() / (tokens * 8);
}
// The sums of step k are over the rows if k is even, and over the columns otherwise.
int64_t summed_dim(int64_t k) {
    return k % 2 == 0 ? -1 : -2;
}
// torch_npu allocates eight numbers for each row, so the matrices may be no larger.
void require_room(const char* name, const at::Tensor& matrices) {
    require_size({name, matrices}, -1, 1);
    if (matrices.size(-1) > 8) refuse(name, "matrices of at most 8 x 8", shape_text(matrices.sizes()));
}
Elements kept_norms(const at::Tensor& x, int64_t iterations) {
    return elements(2 * iterations * x.numel() / std::max<int64_t>(x.size(-1), 1) * 8);
}
Elements kept_sums(const at::Tensor& x, int64_t iterations) {
    return elements(2 * iterations * x.numel() / std::max<int64_t>(x.size(-1) * x.size(-1), 1) * 8);
}

}  // namespace

static void compute(const call::MhcPreBackward& a) {
    const int64_t n = a.x.size(-2);
    const at::Tensor streams = rows(a.x, 2), flat = streams.flatten(1), of_in = rows(a.gradHIn, 1).unsqueeze(1);
    const at::Tensor inverse = upcast(a.invRms).reshape({-1, 1}), mix = rows(a.hMix, 1), pre = rows(a.hPre, 1), post = rows(a.hPost, 1);
    const at::Tensor gate = pre - double{a.hcEps};
    const at::Tensor of_pre = (of_in * streams).sum(2) * gate * (1 - gate), of_post = rows(a.gradHPost, 1) * post * (1 - post / 2);
    const at::Tensor of_projected = at::cat({of_pre, of_post, rows(a.gradHRes, 2).flatten(1)}, 1);
    const at::Tensor of_scaled = of_projected * factors(a.alpha, n), of_mix = of_scaled * inverse;
    const at::Tensor scale = a.gamma ? upcast(*a.gamma).flatten() : at::ones({flat.size(1)});
    const at::Tensor of_flat = at::matmul(of_mix, upcast(a.phi));
    const at::Tensor of_inverse = (of_scaled * mix).sum(1, true);
    at::Tensor of_x = of_flat * scale - of_inverse * inverse.pow(3) / flat.size(1) * flat;
    of_x = of_x + (pre.unsqueeze(2) * of_in).flatten(1);
    if (a.gradXPost) of_x = of_x + rows(*a.gradXPost, 2).flatten(1);
    a.gradX.copy_(of_x.reshape(a.x.sizes()));
    write(a.gradPhi, at::matmul(of_mix.t(), flat * scale));
    const at::Tensor of_alpha = (of_projected * mix * inverse).sum(0);
    write(a.gradAlpha, at::stack({of_alpha.narrow(0, 0, n).sum(), of_alpha.narrow(0, n, n).sum(), of_alpha.narrow(0, 2 * n, n * n).sum()}));
    write(a.gradBias, of_projected.sum(0));
    a.gamma ? write(a.gradGamma, (flat * of_flat).sum(0).reshape(a.gradGamma.sizes())) : void(a.gradGamma.zero_());
}

static void compute(const call::MhcPost& a) {
    const at::Tensor streams = rows(a.x, 2), added = rows(a.hPost, 1).unsqueeze(2) * rows(a.hOut, 1).unsqueeze(1);
    a.y.copy_(((a.hRes ? mixed(rows(*a.hRes, 2), streams) : streams) + added).reshape(a.x.sizes()));
}
static void compute(const call::MhcPostBackward& a) {
    const at::Tensor grad = rows(a.gradY, 2);
    a.gradX.copy_((a.hRes ? at::matmul(rows(*a.hRes, 2), grad) : grad).reshape(a.x.sizes()));
    a.gradHRes.copy_(at::matmul(rows(a.x, 2), grad.transpose(1, 2)).reshape(a.gradHRes.sizes()));
    a.gradHOut.copy_((rows(a.hPost, 1).unsqueeze(2) * grad).sum(1).reshape(a.gradHOut.sizes()));
    a.gradHPost.copy_((rows(a.hOut, 1).unsqueeze(1) * grad).sum(2).reshape(a.gradHPost.sizes()));
}

// Sinkhorn's iteration: a softmax, then rows and columns are divided by their sums in turns.
static void compute(const call::MhcSinkhorn& a) {
    const double epsilon = a.eps;
    std::vector<at::Tensor> norms{at::softmax(a.x, -1) + epsilon};
    std::vector<at::Tensor> sums{at::zeros_like(a.x.select(-1, 0))};  // the softmax has no sum
    for (int64_t k = 1; k < 2 * a.numIters; k++) {
        const at::Tensor sum = norms.back().sum(summed_dim(k), true) + epsilon;
        norms.push_back(norms.back() / sum);
        sums.push_back(sum.squeeze(summed_dim(k)));
    }
    write(a.y, norms.back());
    keep_steps(a.normOut, norms);
    keep_steps(a.sumOut, sums);
}
static void compute(const call::MhcSinkhornBackward& a) {
    const int64_t n = a.gradY.size(-1), tokens = n == 0 ? 0 : a.gradY.numel() / (n * n), steps = steps_of(a.sum, tokens);
    const at::Tensor norms = a.norm.reshape({-1}).narrow(0, 0, steps * tokens * n * n).reshape({steps, tokens, n, n});
    const at::Tensor sums = a.sum.reshape({-1}).narrow(0, 0, steps * tokens * n).reshape({steps, tokens, n});
    at::Tensor grad = a.gradY.reshape({tokens, n, n});
    for (int64_t k = steps - 1; k > 0; k--) grad = (grad - (grad * norms[k]).sum(summed_dim(k), true)) / sums[k].unsqueeze(summed_dim(k));
    // A softmax's probabilities add up to 1, so that its epsilon is what the first step has beyond.
    const at::Tensor probabilities = norms[0] - (norms[0].sum(-1, true) - 1) / n;
    grad = probabilities * (grad - (grad * probabilities).sum(-1, true));
    a.gradX.copy_(grad.reshape(a.gradX.sizes()));
}
