// The list of the engine's entry points, and how often each ran.

#include <mutex>
#include <unordered_set>

#include "engine/runtime/diagnostics/coverage.h"
#include "engine/runtime/diagnostics/entry_point.h"
#include "engine/runtime/diagnostics/records.h"
#include "engine/runtime/error/guarded.h"
#include "engine/runtime/lasting.h"

namespace torch_aclnn::host {
namespace {

// Libraries come and go on any thread, while others count or list.
struct EntryPoints {
    std::mutex mutex;
    std::unordered_set<EntryPoint*> all;
};

constexpr auto& entry_points = lasting<EntryPoints>;

}  // namespace

EntryPoint::EntryPoint(const char* name, const char* family, uint64_t data_types, const torchAclnnParameter* parameters,
                       size_t parameter_count) noexcept
    : description_{sizeof(torchAclnnEntryPoint), name, family, 0, data_types, 0, parameters, parameter_count, sizeof(torchAclnnParameter)},
      calls_(&own_calls_) {
    if (std::atomic<uint64_t>* const shared = coverage_counter(CoverageKind::entry_point, name)) calls_ = shared;
    list();
}

EntryPoint::EntryPoint(const char* name, const char* family) noexcept
    : description_{sizeof(torchAclnnEntryPoint), name, family, 1, 0, 0, nullptr, 0, sizeof(torchAclnnParameter)}, calls_(&own_calls_) {
    list();
}

EntryPoint::~EntryPoint() {
    unlist();
}

EntryPoint* EntryPoint::find(const char* name) {
    EntryPoints& known = entry_points();
    std::lock_guard<std::mutex> lock(known.mutex);
    const auto found =
        std::find_if(known.all.begin(), known.all.end(), [&](const EntryPoint* one) { return std::strcmp(one->name(), name) == 0; });
    return found == known.all.end() ? nullptr : *found;
}

void EntryPoint::list() {
    EntryPoints& known = entry_points();
    std::lock_guard<std::mutex> lock(known.mutex);
    known.all.insert(this);
}

void EntryPoint::unlist() noexcept {
    EntryPoints& known = entry_points();
    std::lock_guard<std::mutex> lock(known.mutex);
    known.all.erase(this);
}

const char* EntryPoint::parameter_kind(const char* parameter) const noexcept {
    for (size_t i = 0; i < description_.parameterCount; ++i)
        if (std::strcmp(description_.parameters[i].name, parameter) == 0) return description_.parameters[i].kind;
    return "";
}

torchAclnnEntryPoint EntryPoint::description() const noexcept {
    torchAclnnEntryPoint described = description_;
    const uint64_t before = calls_at_reset_.load(std::memory_order_acquire);  // read first, because calls_ was never less than this
    described.calls = calls_->load(std::memory_order_relaxed) - before;
    return described;
}

void EntryPoint::reset_calls() noexcept {
    calls_at_reset_.store(calls_->load(std::memory_order_relaxed), std::memory_order_release);
}

}  // namespace torch_aclnn::host

using namespace torch_aclnn::host;

extern "C" TORCH_ACLNN_HOST_API size_t torchAclnnHostEntryPoints(torchAclnnEntryPoint* entryPoints, size_t capacity, size_t recordSize) {
    size_t found = 0;
    guarded(__func__, [&] {
        EntryPoints& known = entry_points();
        std::lock_guard<std::mutex> lock(known.mutex);
        RecordWriter writer(entryPoints, capacity, recordSize);
        for (const EntryPoint* entry_point : known.all) writer.write(entry_point->description());
        found = known.all.size();
    });
    return found;
}

extern "C" TORCH_ACLNN_HOST_API void torchAclnnHostResetCalls(void) {
    guarded(__func__, [] {
        EntryPoints& known = entry_points();
        std::lock_guard<std::mutex> lock(known.mutex);
        for (EntryPoint* entry_point : known.all) entry_point->reset_calls();
    });
}
