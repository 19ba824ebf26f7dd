// Preloaded, it hides the function that HIDDEN names from all who look it up, as if the libraries did not have it.
#include <dlfcn.h>

#include <cstdlib>
#include <cstring>

#ifdef __aarch64__
constexpr const char* kVersion = "GLIBC_2.17";
#else
constexpr const char* kVersion = "GLIBC_2.2.5";
#endif

extern "C" void* dlsym(void* handle, const char* name) noexcept {
    static const auto next = reinterpret_cast<void* (*)(void*, const char*)>(dlvsym(RTLD_NEXT, "dlsym", kVersion));
    const char* hidden = std::getenv("HIDDEN");
    return hidden != nullptr && std::strcmp(name, hidden) == 0 ? nullptr : next(handle, name);
}
