// The descriptions of tensors and their memory, of which calls of operators by name are built.
#pragma once

#include <string>
#include <vector>

#include "acl/acl.h"

struct aclTensorDesc {
    aclDataType type;
    // The format of the memory, and that of the shape which the operator sees.
    aclFormat format, origin_format;
    std::vector<int64_t> dims, origin_dims;
    std::string name;
    bool on_host = false;
};

struct aclDataBuffer {
    void* data;
    size_t size;
};
