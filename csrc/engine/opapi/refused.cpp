// Published entry points that have no meaning on a processor: they exist, and phase 1 refuses with the reason, whatever it is passed.

#include "aclnn/acl_meta.h"
#include "engine/runtime/diagnostics/entry_point.h"
#include "engine/runtime/error/guarded.h"

namespace torch_aclnn::host {

static int refuse_to_compute(const char* function, const char* why) noexcept {
    return guarded(function, [&] { throw Error(ACLNN_ERR_INNER_FIND_KERNEL_ERROR, text("the torch_aclnn host engine has no ", why)); });
}
}  // namespace torch_aclnn::host

#define REFUSE(name, why)                                                           \
    static torch_aclnn::host::EntryPoint name##Entry(#name, "operators");           \
    extern "C" TORCH_ACLNN_HOST_API aclnnStatus name##GetWorkspaceSize(void) {      \
        return torch_aclnn::host::refuse_to_compute(#name "GetWorkspaceSize", why); \
    }                                                                               \
    extern "C" TORCH_ACLNN_HOST_API aclnnStatus name(void) {                        \
        return torch_aclnn::host::refuse_to_compute(#name, why);                    \
    }

// These entry points use encodings private to the chip; only their names are published.
REFUSE(aclnnHansEncode, "codec of the chip's: its code is not published")
REFUSE(aclnnHansDecode, "codec of the chip's: its code is not published")
REFUSE(aclnnMatmulCompress, "weights as CANN's tool compresses them: the code is not published")
REFUSE(aclnnMatmulCompressDequant, "weights as CANN's tool compresses them: the code is not published")
REFUSE(aclnnTransSparse4to2Para, "sparse weights as the chip packs them: the layout is not published")
REFUSE(aclnnSparse4to2QuantMatmulWeightNz, "sparse weights as the chip packs them: the layout is not published")

// These entry points test the chip itself.
REFUSE(aclnnMatmulAbftVerify, "silicon whose products could be wrong")
REFUSE(aclnnPrecisionCompare, "silicon whose results could be wrong")
REFUSE(aclnnSilentCheck, "silicon whose gradients could be wrong")
REFUSE(aclnnSilentCheckV2, "silicon whose gradients could be wrong")

// These entry points require a trusted execution environment.
REFUSE(aclnnObfuscationSetupV2, "trusted process that keeps the keys")
REFUSE(aclnnObfuscationCalculateV2, "trusted process that keeps the keys")
