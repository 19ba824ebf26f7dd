// One call of an entry point as data: what the handles are made of, and what is done to them. It is decoded from bytes (decode.cpp), judged
// (contract.cpp) and carried out (run.cpp).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "acl/acl.h"
#include "aclnn/aclnn_base.h"

namespace fuzz {

constexpr size_t kMaxTensors = 9, kMaxArrays = 3;

enum class Role { read, shape_only, written };
enum class Handle { live, null, destroyed, foreign };
enum class Memory { device, other_device, host, freed, none };

struct TensorSpec {
    Handle handle = Handle::live;
    std::vector<int64_t> sizes, strides, storage;
    bool null_strides = false;  // the strides are the contiguous ones then
    int64_t offset = 0;
    aclDataType dtype = ACL_FLOAT;
    aclFormat format = ACL_FORMAT_NCHW;
    Memory memory = Memory::device;
    size_t block_bytes = 0;  // the allocation's size
    size_t shift = 0;        // from the allocation's first byte to `data`
    size_t block_of = 0;     // the tensor whose allocation this is: usually its own
    size_t handle_of = 0;    // the tensor whose handle this is: usually its own
};

struct ArraySpec {
    Handle handle = Handle::live;
    std::vector<int64_t> values;
};

// What happens after phase 1.
enum class Plot {
    run,
    run_twice,
    run_as_another,
    destroy_tensor,
    destroy_array,
    free_memory,
    null_executor,
    foreign_executor,
    destroy_executor,
    abandon,
    repeat,
    foreign_stream,
    move_output,
    wrong_address,
    unneeded_workspace,
    missing_workspace,
    last = missing_workspace
};

struct Call {
    size_t entry_point = 0;  // the index in entry_points()
    std::vector<TensorSpec> tensors;
    std::vector<ArraySpec> arrays;
    bool ceil_mode = false, count_include_pad = true;
    int64_t divisor = 0;
    int8_t cube_math_type = 1;
    bool null_size = false, null_executor = false;  // the places for phase 1's results
    Plot plot = Plot::run;
    size_t choice = 0;   // the tensor, array, entry point or address that the plot changes
    uint8_t values = 0;  // selects the numbers that the inputs hold
};

// The bytes of an element; 0 for what is no data type.
inline int64_t item_size(aclDataType dtype) {
    return static_cast<int64_t>(aclDataTypeSize(dtype));
}

}  // namespace fuzz
