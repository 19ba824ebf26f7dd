#include "engine/aten/adapter/adapter.h"

#include <c10/core/impl/LocalDispatchKeySet.h>
#include <c10/util/Exception.h>

#include <cmath>
#include <memory>

#include "engine/aten/adapter/temporaries.h"

namespace torch_aclnn::host::aten {
namespace {

// All dispatch keys above a backend kernel. Inline streams run on the user's thread, where any of them may be active.
const c10::DispatchKeySet kAboveBackend =
    c10::autograd_dispatch_keyset_with_ADInplaceOrView | c10::autocast_dispatch_keyset | c10::python_ks |
    c10::DispatchKeySet({c10::DispatchKey::Functionalize, c10::DispatchKey::FuncTorchBatched,
                         c10::DispatchKey::FuncTorchDynamicLayerFrontMode, c10::DispatchKey::FuncTorchDynamicLayerBackMode,
                         c10::DispatchKey::PreDispatch});

// The values of a call's arguments, in one block of memory: the addresses of the values, then the values.
class Values {
   public:
    explicit Values(const Adapter& adapter) : adapter_(adapter) {
        size_t size = rounded_up(adapter.count * sizeof(void*));
        for (size_t i = 0; i < adapter.count; ++i) size += rounded_up(adapter.kinds[i]->value_size);
        memory_.reset(new char[size]);
        char* next = memory_.get() + rounded_up(adapter.count * sizeof(void*));
        for (size_t i = 0; i < adapter.count; next += rounded_up(adapter.kinds[i++]->value_size)) addresses()[i] = next;
    }
    Values(const Values&) = delete;
    ~Values() {
        while (count_ > 0) {
            --count_;
            adapter_.kinds[count_]->destroy(addresses()[count_]);
        }
    }

    void read(const void* const* arguments) {
        for (; count_ < adapter_.count; ++count_)
            adapter_.kinds[count_]->read(adapter_.entry.parameter(count_), arguments[count_], addresses()[count_]);
    }
    void** addresses() const { return reinterpret_cast<void**>(memory_.get()); }

   private:
    static constexpr size_t rounded_up(size_t size) { return (size + 15) / 16 * 16; }

    const Adapter& adapter_;
    std::unique_ptr<char[]> memory_;
    size_t count_ = 0;  // of those that have been read
};

// Of the first argument that is a tensor or a list of them.
uint64_t require_first_dtype(const Adapter& adapter, const void* const* arguments) {
    for (size_t i = 0; i < adapter.count; ++i) {
        if (const auto require_dtype = adapter.kinds[i]->require_dtype)
            return require_dtype(adapter.entry, adapter.entry.parameter(i), arguments[i]);
    }
    return kMaxRank;
}

bool is_real_number(const at::Scalar& scalar) {
    constexpr double kMostOfInt64 = 9.2e18;
    if (scalar.isIntegral(/*includeBool=*/true)) return true;
    return !scalar.isComplex() && std::abs(scalar.toDouble()) < kMostOfInt64;
}

// ATen throws where a number does not fit into a type, and does not say which number.
void refuse_scalar(const Adapter& adapter, const void* const* arguments) {
    for (size_t i = 0; i < adapter.count; ++i) {
        if (!adapter.kinds[i]->is_scalar) continue;
        const auto* const handle = *static_cast<const aclScalar* const*>(arguments[i]);
        if (handle == nullptr) continue;
        const at::Scalar number = read_scalar(adapter.entry.parameter(i), handle);
        if (!is_real_number(number))
            refuse(adapter.entry.parameter(i), "a real number that fits into the type that it is taken as", c10::str(number));
    }
}

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

uint64_t require_dtype_of(const EntryPoint& entry, const char* name, const aclTensor* tensor) {
    if (tensor == nullptr) return kMaxRank;
    require_dtype({name, tensor}, DTypes::of_bits(entry.data_types()));
    return tensor->rank();
}

uint64_t require_dtype_of(const EntryPoint& entry, const char* name, const aclTensorList* tensors) {
    if (tensors == nullptr || tensors->members.empty()) return kMaxRank;
    for (const auto& member : tensors->members) require_dtype_of(entry, name, member.get());
    return tensors->members[0]->rank();
}

aclnnStatus prepare(const Adapter& adapter, const void* const* arguments, uint64_t* workspace_size, aclOpExecutor** executor) noexcept {
    if (const Replacement* const other = adapter.entry.replacement()) return other->phase1(*other, arguments, workspace_size, executor);
    return prepare_own(adapter, arguments, workspace_size, executor);
}

aclnnStatus prepare_own(const Adapter& adapter, const void* const* arguments, uint64_t* workspace_size, aclOpExecutor** executor) noexcept {
    const auto for_each = [&](const auto& apply) {
        for (size_t i = 0; i < adapter.count; ++i) apply(*adapter.kinds[i], adapter.entry.parameter(i), arguments[i]);
    };
    const auto describe = [&](JsonObject& line) {
        for_each([&](const ErasedKind& kind, const char* name, const void* argument) { kind.describe(line, name, argument); });
    };
    const auto make = [&] {
        auto values = std::make_shared<Values>(adapter);
        try {
            values->read(arguments);
            const uint64_t rank = require_first_dtype(adapter, arguments);
            for_each([&](const ErasedKind& kind, const char* name, const void* argument) { kind.require_dims(name, argument, rank); });
            adapter.check(adapter, values->addresses());
        } catch (const Error&) {
            throw;
        } catch (const c10::Error& error) {
            refuse(adapter.entry.parameter(0), "arguments that ATen takes together", error.what_without_backtrace());
        } catch (const std::runtime_error&) {
            refuse_scalar(adapter, arguments);
            throw;
        }
        auto made = std::make_unique<aclOpExecutor>(adapter.entry.name(), aclOpExecutor::Compute());
        for (size_t i = 0; i < adapter.count; ++i) adapter.kinds[i]->set_launch(*made, values->addresses()[i]);
        made->watched.reserve(adapter.count);
        for_each([&](const ErasedKind& kind, const char* name, const void* argument) {
            if (kind.watch != nullptr) kind.watch(*made, name, argument);
        });
        made->compute = [&adapter, values = std::move(values)](const aclOpExecutor&) {
            run_plainly([&] { adapter.body(adapter, values->addresses()); });
        };
        return made;
    };
    return run_phase1(adapter.entry.name(), workspace_size, executor, make, describe);
}

}  // namespace torch_aclnn::host::aten
