#include <cstdio>
#include <cstdlib>
#include <string>

#include "world.h"

namespace fuzz {

static std::string listed(const std::vector<int64_t>& numbers) {
    std::string text;
    for (const int64_t number : numbers) text += (text.empty() ? "" : ", ") + std::to_string(number);
    return "{" + text + "}";
}

constexpr const char* kHandles[] = {"live", "null", "destroyed", "foreign"};
constexpr const char* kMemories[] = {"device", "other device", "host", "freed", "none"};

static void print(const Call& call) {
    const EntryPoint& e = entry_points()[call.entry_point];
    std::fprintf(stderr, "%s, plot %d, choice %zu, values %d\n", e.name, static_cast<int>(call.plot), call.choice, call.values);
    for (size_t i = 0; i < call.tensors.size(); ++i) {
        const TensorSpec& t = call.tensors[i];
        std::fprintf(stderr, "  %s: handle %s (%zu), sizes %s, strides %s%s, offset %lld, dtype %d, format %d, storage %s, ",
                     e.tensors[i].name, kHandles[static_cast<int>(t.handle)], t.handle_of, listed(t.sizes).c_str(),
                     listed(t.strides).c_str(), t.null_strides ? " (null)" : "", static_cast<long long>(t.offset),
                     static_cast<int>(t.dtype), static_cast<int>(t.format), listed(t.storage).c_str());
        std::fprintf(stderr, "memory %s of tensor %zu, %zu bytes, from byte %zu\n",
                     kMemories[static_cast<int>(call.tensors[t.block_of].memory)], t.block_of, call.tensors[t.block_of].block_bytes,
                     t.shift);
    }
    for (const ArraySpec& a : call.arrays)
        std::fprintf(stderr, "  array: handle %s, %s\n", kHandles[static_cast<int>(a.handle)], listed(a.values).c_str());
    std::fprintf(stderr, "  ceil %d, include padding %d, divisor %lld, cubeMathType %d, null results %d %d\n", call.ceil_mode,
                 call.count_include_pad, static_cast<long long>(call.divisor), call.cube_math_type, call.null_size, call.null_executor);
}

void fail(const Call& call, const std::string& what) {
    std::fprintf(stderr, "the contract is broken: %s\nlast message of the engine: %s\n", what.c_str(), aclGetRecentErrMsg());
    print(call);
    std::abort();
}

}  // namespace fuzz
