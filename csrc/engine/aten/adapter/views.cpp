#include "engine/aten/adapter/views.h"

#include <array>
#include <utility>

#include "engine/opapi/slot_pool.h"
#include "engine/runtime/lasting.h"

namespace torch_aclnn::host::aten {
namespace {

// Views that nothing refers to any more. A thread may take a view that another one left.
class LeftViews {
   public:
    // Returns an undefined tensor if there is none.
    at::Tensor take() {
        const std::lock_guard<SpinLock> lock(lock_);
        return count_ == 0 ? at::Tensor() : std::move(views_[--count_]);
    }
    void put(at::Tensor&& view) {
        const std::lock_guard<SpinLock> lock(lock_);
        if (count_ < views_.size()) views_[count_++] = std::move(view);
    }

   private:
    SpinLock lock_;
    std::array<at::Tensor, 1024> views_;  // for the calls that torch_npu's task queue has between their phases
    size_t count_ = 0;
};
constexpr auto& left_views = lasting<LeftViews>;

at::Tensor new_view(caffe2::TypeMeta type) {
    c10::Storage storage(c10::Storage::use_byte_size_t(), 0, c10::DataPtr(nullptr, c10::kCPU));
    return at::detail::make_tensor<c10::TensorImpl>(std::move(storage), c10::DispatchKeySet(c10::DispatchKey::CPU), type);
}

}  // namespace

at::Tensor view_of(void* memory, size_t bytes, at::IntArrayRef sizes, at::IntArrayRef strides, at::ScalarType type) {
    const caffe2::TypeMeta dtype = c10::scalarTypeToTypeMeta(type);
    at::Tensor view = left_views().take();
    if (!view.defined()) view = new_view(dtype);
    c10::TensorImpl& impl = *view.unsafeGetTensorImpl();
    impl.set_allow_tensor_metadata_change(true);
    if (impl.dtype() != dtype) impl.set_storage_and_dtype(impl.storage(), dtype);
    c10::StorageImpl& storage = *impl.unsafe_storage().unsafeGetStorageImpl();
    storage.set_data_ptr_noswap(c10::DataPtr(memory, c10::kCPU));
    storage.set_nbytes(bytes);
    // The view often has these sizes already, from the same argument of the previous call.
    if (impl.sizes() != sizes || impl.strides() != strides) impl.set_sizes_and_strides(sizes, strides);
    impl.set_allow_tensor_metadata_change(false);
    return view;
}

void leave_views(at::Tensor& view) {
    if (view.use_count() != 1 || view.storage().use_count() != 1) return;
    const bool owns_memory = view.storage().data_ptr().get_context() != nullptr;  // the memory of a trial
    if (!owns_memory && view.unsafeGetTensorImpl()->autograd_meta() == nullptr) left_views().put(std::move(view));
}

}  // namespace torch_aclnn::host::aten
