/* Destroys a handle between the phases of each of the five operators, as a program in C might, and prints what phase 2 says. */

#include <stdio.h>
#include <stdlib.h>

#include "acl/acl.h"
#include "aclnnop/aclnn_adaptive_avg_pool2d_backward.h"
#include "aclnnop/aclnn_avgpool2d_backward.h"
#include "aclnnop/aclnn_batch_norm_elemt_backward.h"
#include "aclnnop/aclnn_max_unpool3d_backward.h"
#include "aclnnop/aclnn_pad2d_backward.h"

#define CHECK(condition)                                                                 \
    do {                                                                                 \
        if (!(condition)) {                                                              \
            fprintf(stderr, "%d: %s; %s\n", __LINE__, #condition, aclGetRecentErrMsg()); \
            exit(1);                                                                     \
        }                                                                                \
    } while (0)

static aclTensor* tensor(int rank, const int64_t* sizes, aclDataType type) {
    int64_t count = 1;
    void* memory = NULL;
    for (int d = 0; d < rank; ++d) count *= sizes[d];
    CHECK(aclrtMalloc(&memory, (size_t)count * aclDataTypeSize(type), ACL_MEM_MALLOC_HUGE_FIRST) == ACL_SUCCESS);
    CHECK(aclrtMemset(memory, (size_t)count * aclDataTypeSize(type), 0, (size_t)count * aclDataTypeSize(type)) == ACL_SUCCESS);
    const aclFormat format = rank == 4 ? ACL_FORMAT_NCHW : rank == 5 ? ACL_FORMAT_NCDHW : ACL_FORMAT_ND;
    aclTensor* made = aclCreateTensor(sizes, (uint64_t)rank, type, NULL, 0, format, &count, 1, memory);
    CHECK(made != NULL);
    return made;
}

static aclTensor* floats(int rank, const int64_t* sizes) {
    return tensor(rank, sizes, ACL_FLOAT);
}

/* Destroys the argument that phase 1 was given first, calls phase 2, and prints its code and message. */
#define DESTROY_AND_RUN(entry_point, first)                                    \
    do {                                                                       \
        CHECK(aclDestroyTensor(first) == ACLNN_SUCCESS);                       \
        const aclnnStatus status = entry_point(NULL, 0, executor, NULL);       \
        printf("%s %d %s\n", #entry_point, (int)status, aclGetRecentErrMsg()); \
    } while (0)

int main(void) {
    const int64_t large[] = {1, 2, 4, 4}, small[] = {1, 2, 2, 2}, padded[] = {1, 2, 6, 6}, volume[] = {1, 2, 2, 2, 2}, channels[] = {2};
    const int64_t two[] = {2, 2}, zero[] = {0, 0, 0, 0}, one[] = {1, 1, 1, 1}, plane[] = {2, 2, 2};
    uint64_t size = 0;
    aclOpExecutor* executor = NULL;
    CHECK(aclInit(NULL) == ACL_SUCCESS);
    CHECK(aclrtSetDevice(0) == ACL_SUCCESS);

    aclTensor *gradient = floats(4, small), *result = floats(4, large);
    CHECK(aclnnAvgPool2dBackwardGetWorkspaceSize(gradient, result, aclCreateIntArray(two, 2), aclCreateIntArray(two, 2),
                                                 aclCreateIntArray(zero, 2), false, true, 0, 0, result, &size, &executor) == ACLNN_SUCCESS);
    DESTROY_AND_RUN(aclnnAvgPool2dBackward, gradient);

    gradient = floats(4, small);
    CHECK(aclnnAdaptiveAvgPool2dBackwardGetWorkspaceSize(gradient, result, result, &size, &executor) == ACLNN_SUCCESS);
    DESTROY_AND_RUN(aclnnAdaptiveAvgPool2dBackward, gradient);

    gradient = floats(4, padded);
    CHECK(aclnnReplicationPad2dBackwardGetWorkspaceSize(gradient, result, aclCreateIntArray(one, 4), result, &size, &executor) ==
          ACLNN_SUCCESS);
    DESTROY_AND_RUN(aclnnReplicationPad2dBackward, gradient);

    gradient = floats(5, volume);
    aclTensor* unpooled = floats(5, volume);
    CHECK(aclnnMaxUnpool3dBackwardGetWorkspaceSize(gradient, unpooled, tensor(5, volume, ACL_INT64), aclCreateIntArray(plane, 3),
                                                   aclCreateIntArray(one, 3), aclCreateIntArray(zero, 3), unpooled, &size,
                                                   &executor) == ACLNN_SUCCESS);
    DESTROY_AND_RUN(aclnnMaxUnpool3dBackward, gradient);

    gradient = floats(4, large);
    CHECK(aclnnBatchNormElemtBackwardGetWorkspaceSize(gradient, floats(4, large), floats(1, channels), floats(1, channels),
                                                      floats(1, channels), floats(1, channels), floats(1, channels),
                                                      tensor(1, channels, ACL_INT32), result, &size, &executor) == ACLNN_SUCCESS);
    DESTROY_AND_RUN(aclnnBatchNormElemtBackward, gradient);
    return 0;
}
