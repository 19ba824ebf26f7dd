// The softmax of three numbers and their order, by entry points on ATen's kernels.
#include <acl/acl.h>
#include <aclnn/aclnn_base.h>
#include <aclnnop/aclnn_argsort.h>
#include <aclnnop/aclnn_softmax.h>

#include <array>
#include <cstdio>
#include <cstdlib>

namespace {

void check(int code, const char* what) {
    if (code == 0) return;
    std::fprintf(stderr, "%s: %d %s\n", what, code, aclGetRecentErrMsg());
    std::exit(1);
}

template <class Number>
struct Numbers {
    explicit Numbers(aclDataType dtype, std::array<Number, 3> values = {}) {
        const int64_t size = 3;
        check(aclrtMalloc(&memory, sizeof values, ACL_MEM_MALLOC_HUGE_FIRST), "aclrtMalloc");
        check(aclrtMemcpy(memory, sizeof values, values.data(), sizeof values, ACL_MEMCPY_HOST_TO_DEVICE), "aclrtMemcpy");
        handle = aclCreateTensor(&size, 1, dtype, nullptr, 0, ACL_FORMAT_ND, &size, 1, memory);
    }
    ~Numbers() {
        aclDestroyTensor(handle);
        aclrtFree(memory);
    }
    std::array<Number, 3> read() const {
        std::array<Number, 3> values;
        check(aclrtMemcpy(values.data(), sizeof values, memory, sizeof values, ACL_MEMCPY_DEVICE_TO_HOST), "aclrtMemcpy");
        return values;
    }

    void* memory = nullptr;
    aclTensor* handle = nullptr;
};

}  // namespace

int main() {
    check(aclInit(nullptr), "aclInit");
    check(aclnnInit(nullptr), "aclnnInit");
    check(aclrtSetDevice(0), "aclrtSetDevice");
    {
        const Numbers<float> self(ACL_FLOAT, {0.0F, 1.0986123F, 0.0F}), out(ACL_FLOAT);
        const Numbers<int64_t> order(ACL_INT64);
        uint64_t size = 0;
        aclOpExecutor* executor = nullptr;
        check(aclnnSoftmaxGetWorkspaceSize(self.handle, 0, out.handle, &size, &executor), "aclnnSoftmaxGetWorkspaceSize");
        check(aclnnSoftmax(nullptr, size, executor, nullptr), "aclnnSoftmax");
        check(aclnnArgsortGetWorkspaceSize(self.handle, 0, true, order.handle, &size, &executor), "aclnnArgsortGetWorkspaceSize");
        check(aclnnArgsort(nullptr, size, executor, nullptr), "aclnnArgsort");
        check(aclrtSynchronizeStream(nullptr), "aclrtSynchronizeStream");
        const auto values = out.read();
        const auto places = order.read();
        std::printf("%.3f %.3f %.3f, largest at %d\n", values[0], values[1], values[2], static_cast<int>(places[0]));
    }
    check(aclrtResetDevice(0), "aclrtResetDevice");
    check(aclnnFinalize(), "aclnnFinalize");
    check(aclFinalize(), "aclFinalize");
}
