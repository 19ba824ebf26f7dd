/* A plain C++ program that calls an aclnn operator: the gradient of average pooling, without torch.

   g++ -std=c++17 examples/aclnn_client.cpp -o aclnn_client $(torch-aclnn config --cflags --libs)

   Each of the 16 channels of a 4x4 image is averaged by one 4x4 window, so each of its 16 pixels receives 1/16 of the gradient. */

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <numeric>
#include <vector>

#include "acl/acl.h"
#include "aclnnop/aclnn_avgpool2d_backward.h"

namespace {

// Every call returns a code, and 0 is success. The thread's last failure also has a message.
void check(const char* function, int code) {
    if (code == ACL_SUCCESS) return;
    std::fprintf(stderr, "%s failed with code %d: %s\n", function, code, aclGetRecentErrMsg());
    std::exit(EXIT_FAILURE);
}

// The functions that make a handle return null instead of a code.
template <class Handle>
Handle* check_handle(const char* function, Handle* handle) {
    check(function, handle == nullptr ? ACL_ERROR_FAILURE : ACL_SUCCESS);
    return handle;
}

// Owns a handle and calls Release(handle) at the end of the scope.
template <auto Release>
struct Releaser {
    template <class Handle>
    void operator()(Handle* handle) const {
        Release(handle);
    }
};
using Stream = std::unique_ptr<void, Releaser<aclrtDestroyStream>>;
using DeviceMemory = std::unique_ptr<void, Releaser<aclrtFree>>;
using IntArray = std::unique_ptr<aclIntArray, Releaser<aclDestroyIntArray>>;
using TensorHandle = std::unique_ptr<aclTensor, Releaser<aclDestroyTensor>>;

// The process's use of the interface, and this thread's use of device 0.
struct Runtime {
    Runtime() {
        check("aclInit", aclInit(nullptr));
        check("aclrtSetDevice", aclrtSetDevice(0));
    }
    ~Runtime() {
        aclrtResetDevice(0);
        aclFinalize();
    }
};

Stream create_stream() {
    aclrtStream stream = nullptr;
    check("aclrtCreateStream", aclrtCreateStream(&stream));
    return Stream(stream);
}

DeviceMemory allocate(uint64_t bytes) {
    void* memory = nullptr;
    check("aclrtMalloc", aclrtMalloc(&memory, bytes, ACL_MEM_MALLOC_HUGE_FIRST));
    return DeviceMemory(memory);
}

IntArray int_array(const std::vector<int64_t>& values) {
    return IntArray(check_handle("aclCreateIntArray", aclCreateIntArray(values.data(), values.size())));
}

// A contiguous float32 tensor in device memory, filled with one value, and its copy in host memory.
struct Tensor {
    Tensor(const std::vector<int64_t>& shape, float value)
        : host(std::accumulate(shape.begin(), shape.end(), size_t{1}, std::multiplies<>()), value), device(allocate(bytes())) {
        check("aclrtMemcpy", aclrtMemcpy(device.get(), bytes(), host.data(), bytes(), ACL_MEMCPY_HOST_TO_DEVICE));
        handle.reset(check_handle("aclCreateTensor", aclCreateTensor(shape.data(), shape.size(), ACL_FLOAT, nullptr, 0, ACL_FORMAT_NCHW,
                                                                     shape.data(), shape.size(), device.get())));
    }
    uint64_t bytes() const { return host.size() * sizeof(float); }
    void copy_back() { check("aclrtMemcpy", aclrtMemcpy(host.data(), bytes(), device.get(), bytes(), ACL_MEMCPY_DEVICE_TO_HOST)); }

    std::vector<float> host;
    DeviceMemory device;
    TensorHandle handle;
};

}  // namespace

int main() {
    const Runtime runtime;
    const Stream stream = create_stream();
    const Tensor grad_output({1, 16, 1, 1}, 1), self({1, 16, 4, 4}, 0);
    Tensor grad_input({1, 16, 4, 4}, 0);
    const IntArray kernel_size = int_array({4, 4}), stride = int_array({1, 1}), padding = int_array({0, 0});
    const bool ceil_mode = false, count_include_pad = true;
    const int64_t divisor_override = 0;  // none: divide by the size of the window
    const int8_t cube_math_type = 1;     // float32 may be computed in a narrower type

    // Phase 1 checks the arguments. Phase 2 computes, in the order of the stream, and consumes the executor.
    uint64_t workspace_size = 0;
    aclOpExecutor* executor = nullptr;
    check("aclnnAvgPool2dBackwardGetWorkspaceSize",
          aclnnAvgPool2dBackwardGetWorkspaceSize(grad_output.handle.get(), self.handle.get(), kernel_size.get(), stride.get(),
                                                 padding.get(), ceil_mode, count_include_pad, divisor_override, cube_math_type,
                                                 grad_input.handle.get(), &workspace_size, &executor));
    const DeviceMemory workspace = workspace_size > 0 ? allocate(workspace_size) : nullptr;
    check("aclnnAvgPool2dBackward", aclnnAvgPool2dBackward(workspace.get(), workspace_size, executor, stream.get()));
    check("aclrtSynchronizeStream", aclrtSynchronizeStream(stream.get()));

    grad_input.copy_back();
    const std::vector<float>& values = grad_input.host;
    std::printf("gradOutput 1x16x1x1, all ones; gradInput 1x16x4x4\n");
    std::printf("sum of gradInput: %g\n", std::accumulate(values.begin(), values.end(), 0.0));
    std::printf("its first corner: %g %g\n                  %g %g\n", values[0], values[1], values[4], values[5]);
}
