// Hyper-connections whose mixing is kept doubly stochastic (mHC): n streams of a layer's input become one, and the layer's result goes back
// into the n.
#include <ATen/ATen.h>

#include "engine/aten/adapter/adapter.h"
#include "engine/aten/adapter/results.h"
#include "engine/aten/composite/quantised.h"

#define ATEN_FAMILY "hyper-connections"
using namespace torch_aclnn::host::aten;

namespace {

using torch_aclnn::host::refuse;
using OptTensor = std::optional<at::Tensor>;

// Tensors of each token: of n streams with D features each, of n numbers, and of n times n.
Expected of_token(const at::Tensor& x, std::initializer_list<int64_t> sizes) {
    Expected expected{x.sizes().slice(0, x.dim() - 2)};
    expected.sizes.append(sizes.begin(), sizes.end());
    return expected;
}
// n streams, and those that mix them: without the part of n times n, if there are two numbers in alpha.
int64_t mixes(const at::Tensor& x, const at::Tensor& alpha) {
    const int64_t n = x.size(-2);
    return 2 * n + (alpha.numel() == 3 ? n * n : 0);
}
void require_streams(const char* name, const at::Tensor& x) {
    if (x.dim() != 3 && x.dim() != 4) refuse(name, "3 or 4 dimensions", shape_text(x.sizes()));
}
void require_mixing(const at::Tensor& x, const at::Tensor& alpha, bool may_be_two) {
    require_streams("x", x);
    if (alpha.dim() != 1 || (alpha.size(0) != 3 && !(may_be_two && alpha.size(0) == 2)))
        refuse("alpha", may_be_two ? "the shape [3] or [2]" : "the shape [3]", shape_text(alpha.sizes()));
}

// All tokens below each other: {tokens, ...} with as many dimensions behind as are asked for.
at::Tensor rows(const at::Tensor& tensor, int64_t behind) {
    return upcast(tensor).flatten(0, tensor.dim() - 1 - behind);
}
// alpha's number of each column of the mix.
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

// A mix of the streams of the tokens: y[j] is the sum of res[i, j] x[i].
at::Tensor mixed(const at::Tensor& res, const at::Tensor& streams) {
    return at::matmul(res.transpose(1, 2), streams);
}

// The rows of each step's sums and of what they have made, one step behind the other. No page tells their layout, so that it is the
// engine's own; what remains of the memory is zero.
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
void require_steps(const at::Tensor& grad, const at::Tensor& norm, const at::Tensor& sum) {
    require_streams("gradY", grad);
    const int64_t n = grad.size(-1), of_step = n == 0 ? 0 : grad.numel() / (n * n) * 8;
    if (of_step == 0 ? sum.numel() != 0 : sum.numel() % of_step != 0)
        refuse("sum", c10::str("a multiple of ", of_step, " elements"), shape_text(sum.sizes()));
    if (norm.numel() != sum.numel() * n) refuse("norm", c10::str(sum.numel() * n, " elements"), shape_text(norm.sizes()));
}
// As torch_npu allocates them.
Elements kept_norms(const at::Tensor& x, int64_t iterations) {
    return elements(2 * iterations * x.numel() / std::max<int64_t>(x.size(-1), 1) * 8);
}
Elements kept_sums(const at::Tensor& x, int64_t iterations) {
    return elements(2 * iterations * x.numel() / std::max<int64_t>(x.size(-1) * x.size(-1), 1) * 8);
}

}  // namespace

namespace torch_aclnn::host::aten::kind {
struct Iterations : Between<int64_t, 1, 100> {};
}  // namespace torch_aclnn::host::aten::kind

#define MIXING_INPUTS                                                                                                         \
    (In, x), (In, phi, shape({mixes(x, alpha), x.size(-2) * x.size(-1)})), (In, alpha), (In, bias, shape({mixes(x, alpha)})), \
        (OptIn, gamma, shape({x.size(-2), x.size(-1)})), (Double, normEps), (Double, hcEps)
#define MIXING_OUTPUTS                                                                                                           \
    (Out, hIn, Expected(of_token(x, {x.size(-1)}).sizes, x.scalar_type())), (Out, hPost, of_token(x, {x.size(-2)})),             \
        (Out, hRes, alpha.numel() == 3 ? of_token(x, {x.size(-2), x.size(-2)}) : shape({1})), (OptOut, invRms, of_token(x, {})), \
        (OptOut, hMix, of_token(x, {mixes(x, alpha)})), (OptOut, hPre, of_token(x, {x.size(-2)}))
#define MIX_STREAMS mix_streams(x, phi, alpha, bias, gamma, normEps, hcEps, {hIn, hPost, hRes, invRms, hMix, hPre})
ATEN_CHECKED_ENTRY(aclnnMhcPre, FLOAT16 | BF16, require_mixing(x, alpha, true), MIXING_INPUTS, MIXING_OUTPUTS) {
    MIX_STREAMS;
}
ATEN_CHECKED_ENTRY(aclnnMhcPreV2, FLOAT16 | BF16, require_mixing(x, alpha, true), MIXING_INPUTS, (Int, innerPrecise), MIXING_OUTPUTS) {
    MIX_STREAMS;
}
#define MIXING_GRADIENT_INPUTS                                                                                                            \
    (In, x), (In, phi, shape({mixes(x, alpha), x.size(-2) * x.size(-1)})), (In, alpha), (In, gradHIn, of_token(x, {x.size(-1)})),         \
        (In, gradHPost, of_token(x, {x.size(-2)})), (In, gradHRes, of_token(x, {x.size(-2), x.size(-2)})), (In, invRms, of_token(x, {})), \
        (In, hMix, of_token(x, {mixes(x, alpha)})), (In, hPre, of_token(x, {x.size(-2)})), (In, hPost, of_token(x, {x.size(-2)})),        \
        (OptIn, gamma, shape({x.size(-2), x.size(-1)})), (OptIn, gradXPost, shaped_like(x)), (Float, hcEps)
#define MIXING_GRADIENTS                                                                                                                  \
    (Out, gradX, like(x)), (Out, gradPhi, shaped_like(phi)), (Out, gradAlpha, shaped_like(alpha)), (Out, gradBias, shape({phi.size(0)})), \
        (Out, gradGamma, shape({x.size(-2), x.size(-1)}))
ATEN_CHECKED_ENTRY(aclnnMhcPreBackward, FLOAT16 | BF16, require_mixing(x, alpha, false), MIXING_GRADIENT_INPUTS, MIXING_GRADIENTS) {
    const int64_t n = x.size(-2);
    const at::Tensor streams = rows(x, 2), flat = streams.flatten(1), of_in = rows(gradHIn, 1).unsqueeze(1);
    const at::Tensor inverse = upcast(invRms).reshape({-1, 1}), mix = rows(hMix, 1), pre = rows(hPre, 1), post = rows(hPost, 1);
    const at::Tensor gate = pre - double{hcEps};
    const at::Tensor of_pre = (of_in * streams).sum(2) * gate * (1 - gate), of_post = rows(gradHPost, 1) * post * (1 - post / 2);
    const at::Tensor of_projected = at::cat({of_pre, of_post, rows(gradHRes, 2).flatten(1)}, 1);
    const at::Tensor of_scaled = of_projected * factors(alpha, n), of_mix = of_scaled * inverse;
    const at::Tensor scale = gamma ? upcast(*gamma).flatten() : at::ones({flat.size(1)});
    const at::Tensor of_flat = at::matmul(of_mix, upcast(phi));
    const at::Tensor of_inverse = (of_scaled * mix).sum(1, true);
    at::Tensor of_x = of_flat * scale - of_inverse * inverse.pow(3) / flat.size(1) * flat;
    of_x = of_x + (pre.unsqueeze(2) * of_in).flatten(1);
    if (gradXPost) of_x = of_x + rows(*gradXPost, 2).flatten(1);
    gradX.copy_(of_x.reshape(x.sizes()));
    write(gradPhi, at::matmul(of_mix.t(), flat * scale));
    const at::Tensor of_alpha = (of_projected * mix * inverse).sum(0);
    write(gradAlpha, at::stack({of_alpha.narrow(0, 0, n).sum(), of_alpha.narrow(0, n, n).sum(), of_alpha.narrow(0, 2 * n, n * n).sum()}));
    write(gradBias, of_projected.sum(0));
    gamma ? write(gradGamma, (flat * of_flat).sum(0).reshape(gradGamma.sizes())) : void(gradGamma.zero_());
}
ATEN_CHECKED_ENTRY(aclnnMhcPreBackwardV2, FLOAT16 | BF16, require_mixing(x, alpha, false), MIXING_GRADIENT_INPUTS, (Int, innerPrecise),
                   MIXING_GRADIENTS) {
    aclnnMhcPreBackwardBody(x, phi, alpha, gradHIn, gradHPost, gradHRes, invRms, hMix, hPre, hPost, gamma, gradXPost, hcEps, gradX, gradPhi,
                            gradAlpha, gradBias, gradGamma);
}

#define POST_INPUTS                                                                                       \
    (In, x), (OptIn, hRes, of_token(x, {x.size(-2), x.size(-2)})), (In, hOut, of_token(x, {x.size(-1)})), \
        (In, hPost, of_token(x, {x.size(-2)}))
ATEN_CHECKED_ENTRY(aclnnMhcPost, FLOAT16 | BF16, require_streams("x", x), POST_INPUTS, (Out, y, like(x))) {
    const at::Tensor streams = rows(x, 2), added = rows(hPost, 1).unsqueeze(2) * rows(hOut, 1).unsqueeze(1);
    y.copy_(((hRes ? mixed(rows(*hRes, 2), streams) : streams) + added).reshape(x.sizes()));
}
ATEN_CHECKED_ENTRY(aclnnMhcPostBackward, FLOAT16 | BF16, require_streams("x", x), (In, gradY, shaped_like(x)), POST_INPUTS,
                   (Out, gradX, like(x)), (Out, gradHRes, of_token(x, {x.size(-2), x.size(-2)})), (Out, gradHOut, like(hOut)),
                   (Out, gradHPost, shaped_like(hPost))) {
    const at::Tensor grad = rows(gradY, 2);
    gradX.copy_((hRes ? at::matmul(rows(*hRes, 2), grad) : grad).reshape(x.sizes()));
    gradHRes.copy_(at::matmul(rows(x, 2), grad.transpose(1, 2)).reshape(gradHRes.sizes()));
    gradHOut.copy_((rows(hPost, 1).unsqueeze(2) * grad).sum(1).reshape(gradHOut.sizes()));
    gradHPost.copy_((rows(hOut, 1).unsqueeze(1) * grad).sum(2).reshape(gradHPost.sizes()));
}

// Sinkhorn's iteration: a softmax, then rows and columns are divided by their sums in turns.
ATEN_CHECKED_ENTRY(aclnnMhcSinkhorn, FLOAT, require_streams("x", x), (In, x, with_size(x.sizes(), -2, x.size(-1))), (Float, eps),
                   (Iterations, numIters), (Out, y, like(x)), (OptOut, normOut, kept_norms(x, numIters)),
                   (OptOut, sumOut, kept_sums(x, numIters))) {
    const double epsilon = eps;
    std::vector<at::Tensor> norms{at::softmax(x, -1) + epsilon};
    std::vector<at::Tensor> sums{at::zeros_like(x.select(-1, 0))};  // there is none of the softmax
    for (int64_t k = 1; k < 2 * numIters; k++) {
        const at::Tensor sum = norms.back().sum(summed_dim(k), true) + epsilon;
        norms.push_back(norms.back() / sum);
        sums.push_back(sum.squeeze(summed_dim(k)));
    }
    write(y, norms.back());
    keep_steps(normOut, norms);
    keep_steps(sumOut, sums);
}
ATEN_CHECKED_ENTRY(aclnnMhcSinkhornBackward, FLOAT, require_steps(gradY, norm, sum),
                   (In, gradY, with_size(gradY.sizes(), -2, gradY.size(-1))), (In, norm), (In, sum), (Out, gradX, like(gradY))) {
    const int64_t n = gradY.size(-1), tokens = n == 0 ? 0 : gradY.numel() / (n * n), steps = steps_of(sum, tokens);
    const at::Tensor norms = norm.reshape({-1}).narrow(0, 0, steps * tokens * n * n).reshape({steps, tokens, n, n});
    const at::Tensor sums = sum.reshape({-1}).narrow(0, 0, steps * tokens * n).reshape({steps, tokens, n});
    at::Tensor grad = gradY.reshape({tokens, n, n});
    for (int64_t k = steps - 1; k > 0; k--) grad = (grad - (grad * norms[k]).sum(summed_dim(k), true)) / sums[k].unsqueeze(summed_dim(k));
    // A softmax's probabilities add up to 1, so that its epsilon is what the first step has beyond.
    const at::Tensor probabilities = norms[0] - (norms[0].sum(-1, true) - 1) / n;
    grad = probabilities * (grad - (grad * probabilities).sum(-1, true));
    gradX.copy_(grad.reshape(gradX.sizes()));
}
