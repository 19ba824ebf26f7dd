// What keeps a stream busy.

#include "vocabulary/stream/waiting_calls.h"

namespace torch_aclnn::host::aten::kind {
struct Cycles : Exactly<1> {
    static at::IntArrayRef read(const char* name, const aclIntArray* array) {
        const at::IntArrayRef values = Exactly<1>::read(name, array);
        require_between(name, values[0], 0, 10'000'000'000);
        return values;
    }
};
}  // namespace torch_aclnn::host::aten::kind
