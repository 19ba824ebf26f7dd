// The checks that entry points share. Each throws a Refusal that names the parameter, what was expected and what came.
#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include "host/opapi/dtypes.h"
#include "host/opapi/executor.h"
#include "kernels/view.h"

namespace torch_aclnn::host {

// A parameter under its documented name.
struct Named {
    const char* name;
    const aclTensor* tensor;
};

template <class Handle>
struct NamedPointer {
    const char* name;
    const Handle* handle;
};

// 161001 unless every pointer is set.
void require_not_null(const char* name, const void* pointer);
void require_not_null(std::initializer_list<Named> tensors);

// The three rules that hold for every tensor: no negative dimension, a public format, and a view that lies within its storage.
void require_sound(std::initializer_list<Named> tensors);

// 161002 unless the engine presents one of the products.
void require_product(std::initializer_list<Product> products);

// 161002 unless the tensor's type is listed. BF16 counts on A2 products only; DOUBLE goes with FLOAT where the engine was told to allow it.
TORCH_ACLNN_HOST_API void require_dtype(const Named& tensor, DTypes listed);
void require_same_dtype(const Named& tensor, const Named& reference);
void require_same_format(const Named& tensor, const Named& reference);
void require_rank(const Named& tensor, uint64_t lowest, uint64_t highest);
void require_same_rank(const Named& tensor, const Named& reference);
void require_same_shape(const Named& tensor, const Named& reference);
void require_dim(const Named& tensor, uint64_t dim, int64_t expected);
void require_no_zero_dim_after_batch(const Named& tensor, uint64_t batched_rank);

// The array's values, of which there must be a listed number, each at least `lowest`; `name` and code 161002 otherwise.
void require_length(const NamedPointer<aclIntArray>& array, std::initializer_list<uint64_t> lengths);
void require_values(const NamedPointer<aclIntArray>& array, int64_t lowest);

// One operator's tensor as the kernels see it; dimensions of size 1 are put in front up to Rank.
template <int Rank>
kernels::View<Rank> view(const aclTensor& tensor);

kernels::DType kernel_dtype(aclDataType dtype);

}  // namespace torch_aclnn::host
