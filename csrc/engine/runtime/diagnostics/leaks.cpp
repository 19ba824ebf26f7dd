#include "engine/runtime/diagnostics/leaks.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <mutex>

#include "engine/runtime/config/config.h"
#include "engine/runtime/diagnostics/findings.h"
#include "engine/runtime/lasting.h"
#include "engine/runtime/text.h"

namespace torch_aclnn::host {
namespace {

struct LeakReports {
    std::mutex mutex;
    std::vector<void (*)(LeakList&)> all;
};

// Libraries add to it while they are loaded, perhaps before this file's own objects are made.
constexpr auto& leak_reports = lasting<LeakReports>;

std::string description(const Leak& leak) {
    if (leak.count == 1) return leak.first;
    const std::string more = text(leak.first, ", and ", leak.count - 1, " more of the kind");
    return leak.bytes > 0 ? text(more, ", ", leak.bytes, " bytes in all") : more;
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

void LeakList::print(const char* end, bool after_error) const {
    if (after_error) return print_in_one_line(end);
    for (const Leak& leak : leaks_) {
        std::fprintf(stderr, "torch_aclnn: not %s before %s: %s%s\n", leak.verb, end, description(leak).c_str(),
                     leak.made_at.empty() ? "" : ", called from");
        leak.made_at.print(STDERR_FILENO);
        add_finding("leak");
    }
}

void LeakList::print_in_one_line(const char* end) const {
    std::string kinds;
    for (const Leak& leak : leaks_) {
        kinds += (kinds.empty() ? "" : "; ") + description(leak);
        add_finding("leak");
    }
    if (kinds.empty()) return;
    std::fprintf(stderr, "torch_aclnn: after the error, not given back before %s: %s (with stacks once the error is mended)\n", end,
                 kinds.c_str());
}

void add_leak_report(void (*report)(LeakList&)) {
    const std::lock_guard<std::mutex> lock(leak_reports().mutex);
    leak_reports().all.push_back(report);
}

void report_leaks(const char* end, bool after_error) {
    if (!config().list_leaks) return;
    LeakList list;
    const std::lock_guard<std::mutex> lock(leak_reports().mutex);
    for (const auto report : leak_reports().all) report(list);
    list.print(end, after_error || found_an_error());
}

}  // namespace torch_aclnn::host
