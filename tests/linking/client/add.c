/* out = self + 2 * other by two entry points: one that libopapi computes on ATen's kernels, and one on the engine's own. */
#include <acl/acl.h>
#include <aclnnop/aclnn_add.h>
#include <aclnnop/aclnn_avgpool2d_backward.h>
#include <stdio.h>
#include <stdlib.h>

static void check(int code, const char* what) {
    if (code == 0) return;
    fprintf(stderr, "%s: %d %s\n", what, code, aclGetRecentErrMsg());
    exit(1);
}

static aclTensor* tensor(const float* values, const int64_t* sizes, uint64_t rank, size_t bytes, void** memory) {
    check(aclrtMalloc(memory, bytes, ACL_MEM_MALLOC_HUGE_FIRST), "aclrtMalloc");
    check(aclrtMemcpy(*memory, bytes, values, bytes, ACL_MEMCPY_HOST_TO_DEVICE), "aclrtMemcpy");
    return aclCreateTensor(sizes, rank, ACL_FLOAT, NULL, 0, ACL_FORMAT_NCHW, sizes, rank, *memory);
}

static void print(void* memory, int count) {
    float values[4];
    check(aclrtMemcpy(values, sizeof values, memory, count * sizeof(float), ACL_MEMCPY_DEVICE_TO_HOST), "aclrtMemcpy");
    for (int i = 0; i < count; ++i) printf("%g%c", values[i], i + 1 < count ? ' ' : '\n');
}

int main(void) {
    const float ones[] = {1, 1, 1, 1}, numbers[] = {1, 2, 3, 4}, two = 2, grad[] = {4};
    const int64_t sizes[] = {1, 1, 2, 2}, point[] = {1, 1, 1, 1}, window[] = {2, 2}, none[] = {0, 0};
    void *self_memory, *other_memory, *out_memory, *grad_memory;
    uint64_t workspace_size;
    aclOpExecutor* executor;
    check(aclInit(NULL), "aclInit");
    check(aclrtSetDevice(0), "aclrtSetDevice");
    aclTensor* self = tensor(ones, sizes, 4, sizeof ones, &self_memory);
    aclTensor* other = tensor(numbers, sizes, 4, sizeof numbers, &other_memory);
    aclTensor* out = tensor(ones, sizes, 4, sizeof ones, &out_memory);
    aclTensor* grad_output = tensor(grad, point, 4, sizeof grad, &grad_memory);
    aclScalar* alpha = aclCreateScalar((void*)&two, ACL_FLOAT);

    check(aclnnAddGetWorkspaceSize(self, other, alpha, out, &workspace_size, &executor), "aclnnAddGetWorkspaceSize");
    check(aclnnAdd(NULL, workspace_size, executor, NULL), "aclnnAdd");
    check(aclrtSynchronizeStream(NULL), "aclrtSynchronizeStream");
    print(out_memory, 4);

    aclIntArray *kernel = aclCreateIntArray(window, 2), *padding = aclCreateIntArray(none, 2);
    check(aclnnAvgPool2dBackwardGetWorkspaceSize(grad_output, self, kernel, kernel, padding, false, true, 0, 0, out, &workspace_size,
                                                 &executor),
          "aclnnAvgPool2dBackwardGetWorkspaceSize");
    check(aclnnAvgPool2dBackward(NULL, workspace_size, executor, NULL), "aclnnAvgPool2dBackward");
    check(aclrtSynchronizeStream(NULL), "aclrtSynchronizeStream");
    print(out_memory, 4);
    return 0;
}
