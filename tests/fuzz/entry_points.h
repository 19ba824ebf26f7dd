// The entry points that are called (contract/operators.h), with the order of their tensors and arrays.
#pragma once

#include <vector>

#include "call.h"

namespace fuzz {

// The handles of a call, made or not.
struct Arguments {
    std::array<aclTensor*, kMaxTensors> tensors{};
    std::array<aclIntArray*, kMaxArrays> arrays{};
};

struct Parameter {
    const char* name;
    Role role;
    bool optional = false;
};

// Inputs of regressions/ have its numbers.
enum class Kind { average, adaptive, replication, reflection, circular, unpool, batch_norm, last = batch_norm };

struct EntryPoint {
    Kind kind;
    size_t dims;  // dimensions of a plane; 0: any
    const char* name;
    std::vector<Parameter> tensors;  // the last one is the output
    size_t arrays;
    int (*phase1)(const Call& call, const Arguments& a, uint64_t* size, aclOpExecutor** executor);
    int (*phase2)(void* workspace, uint64_t size, aclOpExecutor* executor, aclrtStream stream);
};

const std::vector<EntryPoint>& entry_points();

// The number of an entry point of this kind, of planes of so many dimensions if there is one.
size_t entry_point_of(Kind kind, size_t dims);

}  // namespace fuzz
