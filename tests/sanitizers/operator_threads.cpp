// Threads that call operators on shared streams, some of which fail, for ThreadSanitizer and AddressSanitizer. `operator_threads <rounds>`.
#include <cstring>
#include <thread>
#include <vector>

#include "aclnnop/aclnn_adaptive_avg_pool2d_backward.h"
#include "aclnnop/aclnn_max_unpool3d_backward.h"
#include "check.h"

namespace {

constexpr int kThreads = 4;
constexpr aclError kComputingFailed = 507015;

// Device memory with a tensor over it.
struct Tensor {
    void* memory = nullptr;
    aclTensor* handle = nullptr;
    size_t bytes = 0;

    Tensor(std::vector<int64_t> sizes, aclDataType dtype) : bytes(aclDataTypeSize(dtype)) {
        for (const int64_t size : sizes) bytes *= static_cast<size_t>(size);
        OK(aclrtMalloc(&memory, bytes, ACL_MEM_MALLOC_HUGE_FIRST));
        const int64_t count = static_cast<int64_t>(bytes / aclDataTypeSize(dtype));
        handle = aclCreateTensor(sizes.data(), sizes.size(), dtype, nullptr, 0, ACL_FORMAT_ND, &count, 1, memory);
    }
    Tensor(const Tensor&) = delete;
    ~Tensor() {
        (void)aclDestroyTensor(handle);
        OK(aclrtFree(memory));
    }
    template <class Number>
    void fill(Number number) {
        const std::vector<Number> numbers(bytes / sizeof number, number);
        OK(aclrtMemcpy(memory, bytes, numbers.data(), bytes, ACL_MEMCPY_HOST_TO_DEVICE));
    }
};

// Handles are destroyed as soon as phase 2 has returned, as torch_npu does.
void pool(aclrtStream stream) {
    Tensor gradient({2, 3, 4, 4}, ACL_FLOAT), self({2, 3, 8, 8}, ACL_FLOAT), out({2, 3, 8, 8}, ACL_FLOAT);
    gradient.fill(4.0F);
    uint64_t size = 0;
    aclOpExecutor* executor = nullptr;
    OK(aclnnAdaptiveAvgPool2dBackwardGetWorkspaceSize(gradient.handle, self.handle, out.handle, &size, &executor));
    OK(aclnnAdaptiveAvgPool2dBackward(nullptr, size, executor, stream));
    for (Tensor* tensor : {&gradient, &self, &out}) {
        OK(aclDestroyTensor(tensor->handle));
        tensor->handle = nullptr;
    }
    // Another thread's failure on the stream is this one's too, because it spoils what was queued behind it.
    if (aclrtSynchronizeStream(stream) != ACL_SUCCESS) return;
    std::vector<float> values(out.bytes / sizeof(float));
    OK(aclrtMemcpy(values.data(), out.bytes, out.memory, out.bytes, ACL_MEMCPY_DEVICE_TO_HOST));
    for (const float value : values) CHECK(value == 1.0F);
}

// An index beyond the plane: the thread that queued it learns of it.
void fail(aclrtStream stream) {
    Tensor gradient({1, 1, 2, 2, 2}, ACL_FLOAT), self({1, 1, 1, 1, 4}, ACL_FLOAT), indices({1, 1, 1, 1, 4}, ACL_INT64),
        out({1, 1, 1, 1, 4}, ACL_FLOAT);
    gradient.fill(1.0F);
    indices.fill(int64_t{99});
    const int64_t two[] = {2, 2, 2}, zero[] = {0, 0, 0};
    aclIntArray *sizes = aclCreateIntArray(two, 3), *stride = aclCreateIntArray(two, 3), *padding = aclCreateIntArray(zero, 3);
    uint64_t size = 0;
    aclOpExecutor* executor = nullptr;
    OK(aclnnMaxUnpool3dBackwardGetWorkspaceSize(gradient.handle, self.handle, indices.handle, sizes, stride, padding, out.handle, &size,
                                                &executor));
    OK(aclnnMaxUnpool3dBackward(nullptr, size, executor, stream));
    for (const aclIntArray* array : {sizes, stride, padding}) OK(aclDestroyIntArray(array));
    CHECK(aclrtSynchronizeStream(stream) == kComputingFailed);
    CHECK(std::strstr(aclGetRecentErrMsg(), "aclnnMaxUnpool3dBackward: indices: expected values in [0, 8), got 99") != nullptr);
}

// One thread's phase 1, another one's phase 2.
void pass_on(aclrtStream stream) {
    Tensor gradient({1, 1, 1}, ACL_FLOAT), self({1, 2, 2}, ACL_FLOAT), out({1, 2, 2}, ACL_FLOAT);
    gradient.fill(1.0F);
    uint64_t size = 0;
    aclOpExecutor* executor = nullptr;
    OK(aclnnAdaptiveAvgPool2dBackwardGetWorkspaceSize(gradient.handle, self.handle, out.handle, &size, &executor));
    std::thread([&] {
        OK(aclrtSetDevice(0));
        OK(aclnnAdaptiveAvgPool2dBackward(nullptr, size, executor, stream));
    }).join();
    CHECK(aclnnAdaptiveAvgPool2dBackward(nullptr, size, executor, stream) == ACLNN_ERR_PARAM_INVALID);
    (void)aclrtSynchronizeStream(stream);
}

void run(const aclrtStream* streams, int thread, int rounds) {
    OK(aclrtSetDevice(0));
    for (int round = 0; round < rounds; ++round) {
        pool(streams[round % 2]);
        if (thread % 2 == 0) fail(streams[0]);
        if (thread == 1) pass_on(streams[1]);
    }
}

}  // namespace

int main(int, char** arguments) {
    const int rounds = std::atoi(arguments[1]);
    OK(aclInit(nullptr));
    OK(aclrtSetDevice(0));
    aclrtStream streams[2] = {};
    for (aclrtStream& stream : streams) OK(aclrtCreateStream(&stream));
    std::vector<std::thread> threads;
    for (int i = 0; i < kThreads; ++i) threads.emplace_back(run, streams, i, rounds);
    for (std::thread& thread : threads) thread.join();
    for (const aclrtStream stream : streams) (void)aclrtSynchronizeStream(stream);
    for (const aclrtStream stream : streams) OK(aclrtDestroyStream(stream));
    OK(aclFinalize());
    std::puts("ended well");
}
