// The registry of entry points.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "engine/runtime/visibility.h"
#include "torch_aclnn/entry_points.h"

namespace torch_aclnn::host {

// One record of torchAclnnHostEntryPoints(). Each entry point has one static object, which is listed while its library is loaded.
class TORCH_ACLNN_HOST_API EntryPoint {
   public:
    EntryPoint(const char* name, const char* family, uint64_t data_types) noexcept : EntryPoint(name, family, data_types, nullptr, 0) {}
    template <size_t count>
    EntryPoint(const char* name, const char* family, uint64_t data_types, const torchAclnnParameter (&parameters)[count]) noexcept
        : EntryPoint(name, family, data_types, parameters, count) {}
    EntryPoint(const char* name, const char* family, uint64_t data_types, const torchAclnnParameter* parameters,
               size_t parameter_count) noexcept;
    // Makes the record of a function that always fails.
    EntryPoint(const char* name, const char* family) noexcept;
    EntryPoint(const EntryPoint&) = delete;
    ~EntryPoint();

    // Counts without a lock, because every call does so.
    void count_call() noexcept { calls_->fetch_add(1, std::memory_order_relaxed); }

    const char* name() const { return description_.name; }
    const char* family() const { return description_.family; }
    const char* parameter(size_t i) const { return description_.parameters[i].name; }
    uint64_t parameter_types(size_t i) const { return description_.parameters[i].dataTypes; }
    const char* parameter_kind(const char* parameter) const noexcept;  // "Out", or "" if there is no such parameter
    uint64_t data_types() const { return description_.dataTypes; }

    // Returns the one of that name, or null if none is listed.
    static EntryPoint* find(const char* name);
    void unlist() noexcept;

    // Describes the entry point, with its calls since the last reset.
    torchAclnnEntryPoint description() const noexcept;
    void reset_calls() noexcept;

   private:
    void list();

    torchAclnnEntryPoint description_;
    std::atomic<uint64_t> own_calls_{0};
    std::atomic<uint64_t>* calls_;  // only increased, so that a reset needs no lock either
    std::atomic<uint64_t> calls_at_reset_{0};
};

}  // namespace torch_aclnn::host
