/* Destroys a handle between the phases of each operator, as a program in C might, and prints what phase 2 says.
   The test generates headers.h, with the operators' headers, and calls.h, with a call of each. */

#include <stdio.h>
#include <stdlib.h>

#include "acl/acl.h"
#include "headers.h"

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

/* Destroys the argument that phase 1 was given first, calls phase 2, and prints its code and message. */
#define DESTROY_AND_RUN(entry_point, first)                                                           \
    do {                                                                                              \
        CHECK(aclDestroyTensor(first) == ACLNN_SUCCESS);                                              \
        void* workspace = NULL;                                                                       \
        if (size > 0) CHECK(aclrtMalloc(&workspace, size, ACL_MEM_MALLOC_HUGE_FIRST) == ACL_SUCCESS); \
        const aclnnStatus status = entry_point(workspace, size, executor, NULL);                      \
        printf("%s %d %s\n", #entry_point, (int)status, aclGetRecentErrMsg());                        \
    } while (0)

int main(void) {
    uint64_t size = 0;
    aclOpExecutor* executor = NULL;
    CHECK(aclInit(NULL) == ACL_SUCCESS);
    CHECK(aclrtSetDevice(0) == ACL_SUCCESS);
#include "calls.h"
    return 0;
}
