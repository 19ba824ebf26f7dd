// The scores by which each token chooses others: a weighted sum over heads of relu(query key^T).
#pragma once

#include "engine/aten/sparse_attention/multiple_sequences.h"

namespace torch_aclnn::host::aten {

struct IndexScores {
    at::Tensor query, key, weights;  // {heads, rows, features}, {heads, columns, features}, {heads, rows, 1}
    int64_t key_heads;
    at::Tensor products;  // before the relu

    // The shapes are {rows, heads, features}, {columns, key heads, features} and {rows, heads}.
    IndexScores(const at::Tensor& query, const at::Tensor& key, const at::Tensor& weights)
        : query(upcast(query).transpose(0, 1)),
          key(upcast(key).transpose(0, 1).repeat_interleave(query.size(1) / key.size(1), 0)),
          weights(upcast(weights).t().unsqueeze(2)),
          key_heads(key.size(1)),
          products(at::matmul(this->query, this->key.transpose(1, 2))) {}

    // The result is {key heads, rows, columns}.
    at::Tensor values() const { return sum_of_groups(at::relu(products) * weights); }

    struct Gradients {
        at::Tensor query, key, weights;  // with the shapes of the arguments
    };
    Gradients backward(const at::Tensor& grad) const {
        const at::Tensor of_heads = grad.repeat_interleave(query.size(0) / key_heads, 0);
        const at::Tensor of_products = of_heads * weights * products.gt(0);
        return {at::matmul(of_products, key).transpose(0, 1), sum_of_groups(at::matmul(of_products.transpose(1, 2), query)).transpose(0, 1),
                (of_heads * at::relu(products)).sum(2).t()};
    }

   private:
    at::Tensor sum_of_groups(const at::Tensor& tensor) const { return tensor.unflatten(0, at::IntArrayRef{key_heads, -1}).sum(1); }
};

}  // namespace torch_aclnn::host::aten
