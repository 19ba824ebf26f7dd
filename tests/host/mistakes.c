/* Computes an absolute value, and makes the mistake that its argument names. No code of a call is looked at. */

#include <stdint.h>
#include <string.h>

#include "acl/acl.h"
#include "aclnnop/aclnn_abs.h"

enum { kBytes = 64 };

static void* memory_of(size_t bytes) {
    void* memory = NULL;
    (void)aclrtMalloc(&memory, bytes, ACL_MEM_MALLOC_HUGE_FIRST);
    return memory;
}

static aclTensor* tensor_at(void* memory) {
    const int64_t size = kBytes / 4, stride = 1;
    return aclCreateTensor(&size, 1, ACL_FLOAT, &stride, 0, ACL_FORMAT_ND, &size, 1, memory);
}

int main(int argc, char** argv) {
    const char* const mistake = argc > 1 ? argv[1] : "";
#define MAKES(name) (strcmp(mistake, name) == 0)
    if (!MAKES("no aclInit")) (void)aclInit(NULL);
    (void)aclrtSetDevice(0);
    aclrtStream stream, other;
    (void)aclrtCreateStream(&stream);
    (void)aclrtCreateStream(&other);
    void *input = memory_of(kBytes), *output = memory_of(kBytes);
    aclTensor *self = tensor_at(input), *out = tensor_at(output);
    uint64_t workspace_size = 0;
    aclOpExecutor* executor = NULL;
    (void)aclnnAbsGetWorkspaceSize(self, out, &workspace_size, &executor);
    void* const workspace = workspace_size == 0 ? NULL : memory_of(workspace_size);
    (void)aclnnAbs(workspace, MAKES("workspace") || MAKES("workspace, leak") ? 1 : workspace_size, executor, stream);
    if (MAKES("lifetime")) (void)aclrtFree(output);
    if (MAKES("streams")) (void)aclrtMemsetAsync(output, kBytes, 0, kBytes, other);
    (void)aclrtSynchronizeDevice();
    if (MAKES("access")) return *(volatile int*)input;
    (void)aclDestroyTensor(self);
    (void)aclDestroyTensor(out);
    (void)aclrtFree(input);
    if (!MAKES("lifetime")) (void)aclrtFree(output);
    if (workspace != NULL) (void)aclrtFree(workspace);
    for (size_t i = 0; i < 3 && strstr(mistake, "leak") != NULL && !MAKES("leaked stream"); ++i) (void)memory_of(kBytes);
    if (!MAKES("leaked stream")) (void)aclrtDestroyStream(stream);
    (void)aclrtDestroyStream(other);
    if (!MAKES("leak, no aclFinalize") && !MAKES("no aclInit")) (void)aclFinalize();
    return 0;
}
