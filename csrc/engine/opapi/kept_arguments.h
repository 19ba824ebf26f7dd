// Arguments of phase 1 that outlive the call: copies of what is behind the handles, in which tensors can have other addresses.
#pragma once

#include "engine/opapi/handles.h"

namespace torch_aclnn::host {

// Returns a copy of a handle. That of a list has copies of the members.
template <class Handle>
std::unique_ptr<Handle, MemberDeleter<Handle>> copy_of(const Handle& other) {
    std::unique_ptr<Handle, MemberDeleter<Handle>> copy;
    if constexpr (std::is_same_v<Handle, aclTensorList> || std::is_same_v<Handle, aclScalarList>) {
        copy.reset(new Handle);
        for (const auto& member : other.members) copy->members.push_back(copy_of(*member));
    } else {
        copy.reset(new Handle(other));
    }
    return copy;
}

class KeptArgument {
   public:
    template <class Argument>
    static KeptArgument of(Argument argument) {
        KeptArgument kept;
        if constexpr (std::is_convertible_v<Argument, const char*>) {
            kept.set(argument == nullptr ? nullptr : kept.own(std::make_shared<std::string>(argument))->c_str());
        } else if constexpr (std::is_pointer_v<Argument> && std::is_class_v<std::remove_pointer_t<Argument>>) {
            kept.set(argument == nullptr ? nullptr : kept.own(std::shared_ptr(copy_of(*argument))).get());
            if constexpr (std::is_convertible_v<Argument, const aclTensor*> || std::is_convertible_v<Argument, const aclTensorList*>)
                kept.copy_ = [](const void* handle) { return of(static_cast<Argument>(const_cast<void*>(handle))); };
            if constexpr (std::is_convertible_v<Argument, const aclTensor*>)
                kept.visit_ = [](void* handle, std::vector<aclTensor*>& tensors) { tensors.push_back(static_cast<aclTensor*>(handle)); };
            if constexpr (std::is_convertible_v<Argument, const aclTensorList*>)
                kept.visit_ = [](void* handle, std::vector<aclTensor*>& tensors) {
                    for (const auto& member : static_cast<aclTensorList*>(handle)->members) tensors.push_back(member.get());
                };
        } else {
            kept.set(argument);
        }
        return kept;
    }

    const void* address() const { return bytes_.data(); }
    // Returns a copy, with tensors of its own.
    KeptArgument copy() const { return copy_ == nullptr || !owner_ ? *this : copy_(owner_.get()); }
    void add_tensors(std::vector<aclTensor*>& tensors) const {
        if (visit_ != nullptr && owner_) visit_(owner_.get(), tensors);
    }

   private:
    void set(const auto& argument) {
        static_assert(sizeof(argument) <= sizeof(bytes_));
        std::memcpy(bytes_.data(), &argument, sizeof(argument));
    }
    template <class Object>
    std::shared_ptr<Object> own(const std::shared_ptr<Object>& object) {
        owner_ = object;
        return object;
    }

    alignas(16) std::array<char, 16> bytes_{};
    std::shared_ptr<void> owner_;
    KeptArgument (*copy_)(const void* handle) = nullptr;
    void (*visit_)(void* handle, std::vector<aclTensor*>& tensors) = nullptr;
};

class TORCH_ACLNN_HOST_API KeptArguments {
   public:
    void add(KeptArgument argument) { arguments_.push_back(std::move(argument)); }
    // Returns the tensors, and the members of lists, in their order.
    std::vector<aclTensor*> tensors() const;
    std::vector<const void*> addresses() const;
    // Returns a copy whose tensors have the given storage addresses, one for each.
    KeptArguments moved(const std::vector<void*>& data) const;

   private:
    std::vector<KeptArgument> arguments_;
};

}  // namespace torch_aclnn::host
