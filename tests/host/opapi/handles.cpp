// Makes and releases every kind of handle in every way that the interface allows; valgrind sees what is lost or freed twice.

#include <cstdio>
#include <cstdlib>

#include "acl/acl.h"
#include "aclnnop/aclnn_adaptive_avg_pool2d_backward.h"

#define CHECK(condition)                                                                      \
    do {                                                                                      \
        if (!(condition)) {                                                                   \
            std::fprintf(stderr, "%d: %s; %s\n", __LINE__, #condition, aclGetRecentErrMsg()); \
            std::exit(1);                                                                     \
        }                                                                                     \
    } while (false)

const int64_t kShape[] = {1, 2, 2}, kPooled[] = {1, 1, 1}, kCount = 4;
static float* memory;  // memory of the device, which the engine's processes can address

static aclTensor* tensor(const int64_t* shape, float* data) {
    return aclCreateTensor(shape, 3, ACL_FLOAT, nullptr, 0, ACL_FORMAT_NCL, &kCount, 1, data);
}

static void lists_release_their_members() {
    const aclTensor* tensors[] = {tensor(kShape, memory), nullptr, tensor(kPooled, memory)};
    float one = 1;
    const aclScalar* scalars[] = {aclCreateScalar(&one, ACL_FLOAT), aclCreateScalar(&one, ACL_INT32)};
    CHECK(aclDestroyTensorList(aclCreateTensorList(tensors, 3)) == ACLNN_SUCCESS);
    CHECK(aclDestroyScalarList(aclCreateScalarList(scalars, 2)) == ACLNN_SUCCESS);
}

static void arrays_release_their_values() {
    const int64_t ints[] = {1, 2, 3};
    const float floats[] = {1, 2, 3};
    const bool bools[] = {true, false, true};
    CHECK(aclDestroyIntArray(aclCreateIntArray(ints, 3)) == ACLNN_SUCCESS);
    CHECK(aclDestroyFloatArray(aclCreateFloatArray(floats, 3)) == ACLNN_SUCCESS);
    CHECK(aclDestroyBoolArray(aclCreateBoolArray(bools, 3)) == ACLNN_SUCCESS);
}

static aclOpExecutor* phase1(const aclTensor* grad, aclTensor* out, aclnnStatus expected = ACLNN_SUCCESS) {
    uint64_t workspace_size = 0;
    aclOpExecutor* executor = nullptr;
    CHECK(aclnnAdaptiveAvgPool2dBackwardGetWorkspaceSize(grad, out, out, &workspace_size, &executor) == expected);
    CHECK((executor == nullptr) == (expected != ACLNN_SUCCESS));
    return executor;
}

static aclnnStatus phase2(aclOpExecutor* executor, aclrtStream stream = nullptr) {
    return aclnnAdaptiveAvgPool2dBackward(nullptr, 0, executor, stream);
}

static void executors_are_released_once() {
    aclTensor *grad = tensor(kPooled, memory), *out = tensor(kShape, memory + 4);
    phase1(nullptr, out, ACLNN_ERR_PARAM_NULLPTR);

    CHECK(phase2(phase1(grad, out)) == ACLNN_SUCCESS);                    // phase 2 consumes the executor
    CHECK(phase2(phase1(grad, out), memory) == ACLNN_ERR_RUNTIME_ERROR);  // consumed although there is no such stream
    CHECK(aclDestroyAclOpExecutor(phase1(grad, out)) == ACLNN_SUCCESS);   // never run

    aclOpExecutor* repeatable = phase1(grad, out);
    CHECK(aclSetAclOpExecutorRepeatable(repeatable) == ACLNN_SUCCESS);
    CHECK(phase2(repeatable) == ACLNN_SUCCESS);
    CHECK(phase2(repeatable, memory) == ACLNN_ERR_RUNTIME_ERROR);
    CHECK(phase2(repeatable) == ACLNN_SUCCESS);
    CHECK(aclDestroyAclOpExecutor(repeatable) == ACLNN_SUCCESS);

    aclOpExecutor* used = phase1(grad, out);
    memory[4] = 0;
    CHECK(phase2(used) == ACLNN_SUCCESS);
    CHECK(aclrtSynchronizeStream(nullptr) == ACL_SUCCESS);
    CHECK(memory[4] == 0.25f);
    CHECK(phase2(used) == ACLNN_ERR_PARAM_INVALID);
    CHECK(aclDestroyAclOpExecutor(used) == ACLNN_ERR_PARAM_INVALID);

    aclOpExecutor* late = phase1(grad, out);
    CHECK(aclDestroyTensor(grad) == ACLNN_SUCCESS);
    CHECK(aclDestroyTensor(grad) == ACLNN_ERR_PARAM_INVALID);
    CHECK(phase2(late) == ACLNN_ERR_PARAM_INVALID);  // consumed although its argument has been destroyed
    CHECK(aclDestroyTensor(out) == ACLNN_SUCCESS);
}

static void getters_return_what_the_caller_frees() {
    aclTensor* described = tensor(kShape, memory);
    int64_t* dims[3];
    uint64_t count = 0;
    CHECK(aclGetViewShape(described, &dims[0], &count) == ACLNN_SUCCESS);
    CHECK(aclGetViewStrides(described, &dims[1], &count) == ACLNN_SUCCESS);
    CHECK(aclGetStorageShape(described, &dims[2], &count) == ACLNN_SUCCESS);
    for (const int64_t* values : dims) delete[] values;
    aclDestroyTensor(described);
}

int main() {
    CHECK(aclrtSetDevice(0) == ACL_SUCCESS);
    CHECK(aclrtMalloc(reinterpret_cast<void**>(&memory), 9 * sizeof(float), ACL_MEM_MALLOC_HUGE_FIRST) == ACL_SUCCESS);
    memory[0] = 1;
    lists_release_their_members();
    arrays_release_their_values();
    executors_are_released_once();
    getters_return_what_the_caller_frees();
    CHECK(aclrtFree(memory) == ACL_SUCCESS);
}
