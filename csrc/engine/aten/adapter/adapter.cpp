#include "engine/aten/adapter/adapter.h"

#include <c10/core/impl/LocalDispatchKeySet.h>
#include <c10/util/Exception.h>

#include "engine/aten/adapter/temporaries.h"

namespace torch_aclnn::host::aten {
namespace {

// Everything that stands between a call and its backend kernel. Inline streams run on the user's thread, where any of it may be active.
const c10::DispatchKeySet kAboveBackend =
    c10::autograd_dispatch_keyset_with_ADInplaceOrView | c10::autocast_dispatch_keyset | c10::python_ks |
    c10::DispatchKeySet({c10::DispatchKey::Functionalize, c10::DispatchKey::FuncTorchBatched,
                         c10::DispatchKey::FuncTorchDynamicLayerFrontMode, c10::DispatchKey::FuncTorchDynamicLayerBackMode,
                         c10::DispatchKey::PreDispatch});

}  // namespace

void run_plainly(const std::function<void()>& body) {
    const c10::impl::ExcludeDispatchKeyGuard guard(kAboveBackend);
    const TemporariesAreKept temporaries;
    try {
        body();
    } catch (const c10::Error& error) {
        throw Error(ACL_ERROR_RT_AICORE_EXCEPTION, error.what_without_backtrace());
    }
}

}  // namespace torch_aclnn::host::aten
