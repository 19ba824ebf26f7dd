// How the C functions of libhccl.so are written: as guarded() and traced() have it, with codes of HcclResult.
#pragma once

#include <new>

#include "engine/hccl/communicator.h"
#include "engine/runtime/call/traced.h"
#include "hccl/hccl_types.h"

namespace torch_aclnn::host {

constexpr int kFirstRuntimeCode = 1000;

void with_hccl_codes(auto&& body) {
    try {
        body();
    } catch (const Error& error) {
        if (error.code() < kFirstRuntimeCode) throw;
        throw Error(HCCL_E_RUNTIME, text(error.what(), " (", error.code(), ")"), error.function());
    } catch (const std::bad_alloc&) {
        throw Error(HCCL_E_MEMORY, "out of host memory");
    } catch (const std::exception& error) {
        throw Error(HCCL_E_INTERNAL, error.what());
    }
}

HcclResult hccl_guarded(const char* function, auto&& body) noexcept {
    return static_cast<HcclResult>(guarded(function, [&] { with_hccl_codes(body); }));
}

HcclResult hccl_traced(const char* function, auto&& arguments, auto&& body) noexcept {
    return static_cast<HcclResult>(traced(function, arguments, [&] { with_hccl_codes(body); }));
}

// Runs an operation on a communicator, with which the body is called.
HcclResult traced_on(HcclComm comm, aclrtStream stream, const char* function, auto&& arguments, auto&& body) noexcept {
    const auto details = [&] { return on_communicator(arguments(), comm, stream); };
    return hccl_traced(function, details, [&] { body(find_communicator(comm)); });
}

// HCCL_E_PTR unless the pointer is given.
inline void require_hccl_pointer(const char* parameter, const void* pointer) {
    if (pointer == nullptr) refuse(HCCL_E_PTR, parameter, "a value", "null");
}

}  // namespace torch_aclnn::host
