// Implementations of entry points: adapters that are made at run time.
#pragma once

#include <vector>

#include "engine/aten/implement/function.h"
#include "engine/symbols/symbols.h"

namespace torch_aclnn::host::aten {

// The parts of an adapter.
struct ImplementedParts {
    explicit ImplementedParts(const torchAclnnImplementation& given);

    ImplementedFunction function;
    std::vector<torchAclnnParameter> described;
    std::vector<const ErasedKind*> kinds_of_all;
    std::vector<size_t> offsets_of_all;
    EntryPoint own_entry;
};

// Never destroyed once it is published.
class ImplementedEntryPoint final : public ImplementedParts, public Adapter, public AddedEntryPoint, public Replacement {
   public:
    explicit ImplementedEntryPoint(const torchAclnnImplementation& given);

    // Has callers find it. 100000 where the name is one of the engine's and `replace` is false, or the other has other parameters.
    void publish(bool replace);

   private:
    void take_place_of(EntryPoint& other);
};

}  // namespace torch_aclnn::host::aten
