// The checks that entry points share. Each throws an Error that names the parameter, what was expected and what came.
#pragma once

#include <initializer_list>

#include "engine/opapi/dtypes.h"
#include "engine/opapi/executor.h"
#include "kernels/support/view.h"

namespace torch_aclnn::host {

template <class Handle>
struct NamedPointer {
    const char* name;
    const Handle* handle;
};

// 161002 unless the handle, if one is given, is live.
template <class Handle>
void require_live(const char* name, const Handle* handle) {
    if (handle != nullptr && !slots_of<Handle>().is_live(handle))
        refuse(name, "a live " + std::string(handle_name<Handle>), describe_dead(handle));
}

TORCH_ACLNN_HOST_API void require_not_null(const char* name, const void* pointer);

// Refuses a null handle with 161001, and one that has been destroyed with 161002.
void require_handle(const char* name, const auto* handle) {
    require_not_null(name, handle);
    require_live(name, handle);
}

// The rules that hold for every tensor: no negative dimension, a number of elements that can be counted, and a view that lies within its
// storage, and within one allocation of device memory. Unless TORCH_ACLNN_HOST_MODE=strict is set, the storage may be declared from the
// view's offset on, and says nothing of a tensor that is written. `beyond` is the code for a view that goes beyond its storage. Returns
// view_bytes(), or 0 for a tensor without elements.
TORCH_ACLNN_HOST_API size_t require_device_view(const Named& tensor, bool is_written = false, int beyond = ACLNN_ERR_PARAM_INVALID);

// Returns the bytes from the first element to the end of the last, of a tensor that has elements and has been checked.
size_t view_bytes(const aclTensor& tensor);

// The rules of require_device_view as strict mode has them, with a public format, all in memory of one device.
void require_sound(std::initializer_list<Named> tensors);

// 161002 if elements of the output share memory with each other or with an input.
void require_no_overlap(const Named& output, std::initializer_list<Named> inputs);

// 161002 if elements of a tensor that is written share memory with each other or with another tensor, unless that is an input and the same
// view, or the tensor is filled: else the result would depend on the order of the elements. Returns whether there is such an input.
TORCH_ACLNN_HOST_API bool require_outputs_apart(const std::vector<WatchedHandle>& arguments, bool is_filled = false);

// TORCH_ACLNN_HOST_MODE=strict: 161002 where a tensor is empty, of which the documents say nothing or that it is not supported.
void require_not_empty_if_strict(std::initializer_list<Named> tensors);

// 161002 unless the tensor's type is listed. BF16 counts on products that have it; DOUBLE goes with FLOAT where the engine was told to
// allow it.
TORCH_ACLNN_HOST_API void require_dtype(const Named& tensor, DTypes listed);
TORCH_ACLNN_HOST_API void require_same_dtype(const Named& tensor, const Named& reference);
void require_same_format(const Named& tensor, const Named& reference);
void require_rank(const Named& tensor, uint64_t lowest, uint64_t highest);
void require_same_rank(const Named& tensor, const Named& reference);
void require_same_shape(const Named& tensor, const Named& reference);
void require_dim(const Named& tensor, uint64_t dim, int64_t expected);
void require_no_zero_dim_after_batch(const Named& tensor, uint64_t batched_rank);

// Returns the array's values, of which there must be a listed number, each at least `lowest`; refuses others under `name`, with 161002.
void require_length(const NamedPointer<aclIntArray>& array, std::initializer_list<uint64_t> lengths);
void require_values(const NamedPointer<aclIntArray>& array, int64_t lowest);

// Returns one operator's tensor as the kernels see it; dimensions of size 1 are put in front up to Rank.
template <int Rank>
kernels::View<Rank> view(const aclTensor& tensor);

kernels::DType kernel_dtype(aclDataType dtype);

}  // namespace torch_aclnn::host
