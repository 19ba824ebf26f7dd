#include "engine/runtime/diagnostics/leaks.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <mutex>

#include "engine/runtime/config/config.h"
#include "engine/runtime/diagnostics/findings.h"

namespace torch_aclnn::host {
namespace {

struct LeakReports {
    std::mutex mutex;
    std::vector<void (*)(LeakList&)> all;
};

// Libraries add to it while they are loaded, perhaps before this file's own objects are made.
LeakReports& leak_reports() {
    static auto* const once = new LeakReports;
    return *once;
}

}  // namespace

void LeakList::add(const char* verb, const std::string& kind, const std::string& description, const CallStack& made_at, size_t bytes) {
    if (made_at.begins_in("libtorch_npu.so")) return;
    const auto same =
        std::find_if(leaks_.begin(), leaks_.end(), [&](const Leak& leak) { return leak.kind == kind && leak.made_at == made_at; });
    if (same == leaks_.end()) return leaks_.push_back({verb, kind, description, made_at, bytes, 1});
    same->bytes += bytes;
    ++same->count;
}

void LeakList::print(const char* end) const {
    for (const Leak& leak : leaks_) {
        std::string line = std::string("torch_aclnn: not ") + leak.verb + " before " + end + ": " + leak.first;
        if (leak.count > 1) line += ", and " + std::to_string(leak.count - 1) + " more of the kind";
        if (leak.count > 1 && leak.bytes > 0) line += ", " + std::to_string(leak.bytes) + " bytes in all";
        std::fprintf(stderr, "%s%s\n", line.c_str(), leak.made_at.empty() ? "" : ", called from");
        leak.made_at.print(STDERR_FILENO);
        add_finding("leak");
    }
}

void add_leak_report(void (*report)(LeakList&)) {
    const std::lock_guard<std::mutex> lock(leak_reports().mutex);
    leak_reports().all.push_back(report);
}

void report_leaks(const char* end) {
    if (!config().list_leaks) return;
    LeakList list;
    const std::lock_guard<std::mutex> lock(leak_reports().mutex);
    for (const auto report : leak_reports().all) report(list);
    list.print(end);
}

}  // namespace torch_aclnn::host
