#include "engine/opapi/entry.h"

namespace torch_aclnn::host {

void Call::check() const {
    for (size_t i = 0; i < count; ++i)
        if (!kinds[i]->nullable || config().strict) kinds[i]->require_not_null(entry.parameter(i), arguments[i]);
    for (size_t i = 0; i < count; ++i) kinds[i]->require_live(entry.parameter(i), arguments[i]);
    require_product(offer);
}

void Call::describe(JsonObject& line) const {
    for (size_t i = 0; i < count; ++i) kinds[i]->describe(line, entry.parameter(i), arguments[i]);
}

std::unique_ptr<aclOpExecutor> Call::executor(Compute compute) const {
    auto made = std::make_unique<aclOpExecutor>(entry.name(), std::move(compute));
    made->watched.reserve(count);
    for (size_t i = 0; i < count; ++i) kinds[i]->hand_over(*made, entry.parameter(i), arguments[i]);
    return made;
}

std::unique_ptr<Recipe> Call::recipe(const Compute& compute) const {
    auto recipe = std::make_unique<Recipe>();
    for (size_t i = 0; i < count; ++i) recipe->arguments.add(kinds[i]->keep(arguments[i]));
    recipe->make = [row = *this, compute](const KeptArguments& kept) {
        const std::vector<const void*> addresses = kept.addresses();
        Call call = row;
        call.arguments = addresses.data();
        auto made = call.executor(compute);
        for (const WatchedHandle& handle : made->watched)
            if (const aclTensor* tensor = handle.tensor()) require_device_view({handle.name(), tensor}, handle.is_written());
        return made;
    };
    return recipe;
}

}  // namespace torch_aclnn::host
