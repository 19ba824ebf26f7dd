// Reads of values that a dry run does not know, by the line of Python that reads them.

#include <fstream>
#include <map>
#include <mutex>

#include "engine/runtime/config/config.h"
#include "engine/runtime/diagnostics/call_stack.h"
#include "engine/runtime/diagnostics/records.h"
#include "engine/runtime/error/guarded.h"
#include "engine/runtime/lasting.h"
#include "engine/runtime/memory/known_values.h"
#include "engine/runtime/stream/dry_run.h"
#include "engine/runtime/text.h"
#include "torch_aclnn/dry_run.h"

namespace torch_aclnn::host {
namespace {

constexpr uint64_t kMostReads = 10000;

struct Reads {
    uint64_t count = 0, bytes = 0;
};

struct ValueReads {
    std::mutex mutex;
    std::map<std::string, Reads> by_stack;
};

constexpr auto& value_reads = lasting<ValueReads>;

// Returns text such as "File "train.py", line 12 in step" of a stack.
std::string innermost(const std::string& stack) {
    const size_t begin = stack.find("File ");
    return begin == std::string::npos ? "a thread without Python" : stack.substr(begin, stack.find('\n', begin) - begin);
}

// Memory of the host is real, unlike the device's. Linux tells how much it has left in lines such as "MemAvailable:   12345 kB".
void require_host_memory(size_t bytes, const std::string& stack) {
    constexpr size_t kLeftAlone = size_t{16} << 20;
    if (bytes < kLeftAlone) return;
    std::ifstream lines("/proc/meminfo");
    std::string name, unit;
    for (size_t kib = 0; lines >> name >> kib; std::getline(lines, unit))
        if (name == "MemAvailable:" && bytes / 1024 > kib)
            throw Error(ACL_ERROR_RT_MEMORY_ALLOCATION,
                        text(innermost(stack), " copies ", bytes, " bytes to the host, which has ", kib * 1024, " bytes left"));
}

}  // namespace

void note_value_read(size_t bytes) {
    std::string stack = python_stack();
    require_host_memory(bytes, stack);
    ValueReads& reads = value_reads();
    const std::lock_guard<std::mutex> lock(reads.mutex);
    Reads& here = reads.by_stack[stack];
    here.bytes += bytes;
    if (++here.count < kMostReads) return;
    throw Error(ACL_ERROR_RT_AICORE_EXCEPTION, text(innermost(stack), " has read ", here.count,
                                                    " values that a dry run does not know: what the program does depends on them"));
}

}  // namespace torch_aclnn::host

using namespace torch_aclnn::host;

extern "C" TORCH_ACLNN_HOST_API int torchAclnnHostIsDryRun(void) {
    return config().dry_run ? 1 : 0;
}

extern "C" TORCH_ACLNN_HOST_API void torchAclnnHostForgetValues(const void* devPtr, size_t bytes) {
    forget_values(devPtr, bytes);
}

extern "C" TORCH_ACLNN_HOST_API size_t torchAclnnHostValueReads(torchAclnnValueRead* valueReads, size_t capacity, size_t recordSize) {
    ValueReads& reads = value_reads();
    const std::lock_guard<std::mutex> lock(reads.mutex);
    RecordWriter writer(valueReads, capacity, recordSize);
    for (const auto& [stack, here] : reads.by_stack) writer.write(torchAclnnValueRead{0, stack.c_str(), here.count, here.bytes});
    return reads.by_stack.size();
}
