// The list of entry points behind torchAclnnHostEntryPoints().
#pragma once

#include <bit>

#include "engine/opapi/dtypes.h"
#include "torch_aclnn/entry_points.h"

namespace torch_aclnn::host::aten {

// Describes one entry point. Static objects of this type link themselves into the list while the library is loaded.
class EntryPoint {
   public:
    template <size_t count>
    EntryPoint(const char* name, DTypes dtypes, const torchAclnnParameter (&parameters)[count]) noexcept
        : dtypes(dtypes), description_{name, std::bit_cast<uint64_t>(dtypes), parameters, count, newest_} {
        newest_ = &description_;
    }
    EntryPoint(const EntryPoint&) = delete;

    const char* name() const { return description_.name; }
    const char* parameter(size_t i) const { return description_.parameters[i].name; }
    static const torchAclnnEntryPoint* newest() { return newest_; }

    const DTypes dtypes;

   private:
    static inline const torchAclnnEntryPoint* newest_ = nullptr;
    torchAclnnEntryPoint description_;
};

}  // namespace torch_aclnn::host::aten
