// Preloaded into a program: entry points that dlsym() does not find, though the engine has them.
#include <dlfcn.h>

#include <cstdlib>
#include <string_view>

using Dlsym = void* (*)(void*, const char*);

static Dlsym without_us() {
    // The versions of glibc 2.34, of aarch64, and of x86_64 before.
    for (const char* version : {"GLIBC_2.34", "GLIBC_2.17", "GLIBC_2.2.5"}) {
        if (void* found = dlvsym(RTLD_NEXT, "dlsym", version)) return reinterpret_cast<Dlsym>(found);
    }
    std::abort();
}

static bool is_missing(std::string_view name) {
    const char* missing = std::getenv("MISSING_ENTRY_POINT");
    if (missing == nullptr || name.substr(0, std::string_view(missing).size()) != missing) return false;
    name.remove_prefix(std::string_view(missing).size());
    return name.empty() || name == "GetWorkspaceSize";
}

extern "C" void* dlsym(void* handle, const char* name) {
    static const Dlsym find = without_us();
    // A tail call, so that RTLD_NEXT counts from the caller's own library.
    return find(handle, is_missing(name) ? "no such entry point" : name);
}
