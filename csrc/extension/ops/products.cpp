#include "extension/ops/products.h"

#include <optional>
#include <string_view>

#include "contract/operators.h"
#include "extension/aclnn/symbols.h"

namespace torch_aclnn {
namespace {

bool begins_with(std::string_view text, std::string_view start) {
    return text.substr(0, start.size()) == start;
}

// Nothing if the product is not known, or newer than the pages.
std::optional<Product> product_of(std::string_view soc) {
    if (begins_with(soc, "Ascend310P")) return Product::inference;
    if (begins_with(soc, "Ascend310B")) return Product::edge;
    if (begins_with(soc, "Ascend910_")) return Product::a3;
    // Ascend910B by itself is of the first generation.
    if (begins_with(soc, "Ascend910B") && soc.size() > std::string_view("Ascend910B").size()) return Product::a2;
    return begins_with(soc, "Ascend910") ? std::optional(Product::training) : std::nullopt;
}

std::optional<Product> product() {
    static const std::optional<Product> once = [] {
        const auto get_name = reinterpret_cast<const char* (*)()>(find_in_runtime("aclrtGetSocName"));
        const char* name = get_name == nullptr ? nullptr : get_name();
        return name == nullptr ? std::nullopt : product_of(name);
    }();
    return once;
}

}  // namespace

bool is_offered(const char* operator_name) {
    return !product() || listed(operator_name).products.has(*product());
}

bool is_a2_or_later() {
    return !product() || kA2AndA3.has(*product());
}

}  // namespace torch_aclnn
