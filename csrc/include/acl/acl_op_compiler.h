// Operators by name: their calls, and the options of the compiler that a chip has for them.
//
// Part of the torch_aclnn host engine: a clean-room description of the documented interface.
#pragma once

#include "acl_base.h"
#include "acl_op.h"

typedef enum { ACL_COMPILE_SYS = 0, ACL_COMPILE_UNREGISTERED = 1 } aclopCompileType;

typedef enum {
    ACL_PRECISION_MODE = 0,
    ACL_AICORE_NUM = 1,
    ACL_AUTO_TUNE_MODE = 2,
    ACL_OP_SELECT_IMPL_MODE = 3,
    ACL_OPTYPELIST_FOR_IMPLMODE = 4,
    ACL_OP_DEBUG_LEVEL = 5,
    ACL_DEBUG_DIR = 6,
    ACL_OP_COMPILER_CACHE_MODE = 7,
    ACL_OP_COMPILER_CACHE_DIR = 8,
    ACL_OP_PERFORMANCE_MODE = 9,
    ACL_OP_JIT_COMPILE = 10,
    ACL_OP_DETERMINISTIC = 11,
    ACL_CUSTOMIZE_DTYPES = 12,
    ACL_OP_PRECISION_MODE = 13,
    ACL_ALLOW_HF32 = 14,
    ACL_PRECISION_MODE_V2 = 15,
    ACL_OP_DEBUG_OPTION = 16
} aclCompileOpt;

/// The value is kept to be read back: the engine compiles nothing.
ACL_FUNC_VISIBILITY aclError aclSetCompileopt(aclCompileOpt opt, const char* value);
ACL_FUNC_VISIBILITY size_t aclGetCompileoptSize(aclCompileOpt opt);
ACL_FUNC_VISIBILITY aclError aclGetCompileopt(aclCompileOpt opt, char* value, size_t length);

/// Has the operator of that name run on the stream.
ACL_FUNC_VISIBILITY aclError aclopCompileAndExecute(const char* opType, int numInputs, const aclTensorDesc* const inputDesc[],
                                                    const aclDataBuffer* const inputs[], int numOutputs,
                                                    const aclTensorDesc* const outputDesc[], aclDataBuffer* const outputs[],
                                                    const aclopAttr* attr, aclopEngineType engineType, aclopCompileType compileFlag,
                                                    const char* opPath, aclrtStream stream);
/// Does the same, and writes the shapes of outputs that depend on the data into their descriptions.
ACL_FUNC_VISIBILITY aclError aclopCompileAndExecuteV2(const char* opType, int numInputs, aclTensorDesc* inputDesc[],
                                                      aclDataBuffer* inputs[], int numOutputs, aclTensorDesc* outputDesc[],
                                                      aclDataBuffer* outputs[], aclopAttr* attr, aclopEngineType engineType,
                                                      aclopCompileType compileFlag, const char* opPath, aclrtStream stream);
