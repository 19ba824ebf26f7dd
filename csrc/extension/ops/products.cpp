#include "extension/ops/products.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <iterator>
#include <optional>

#include "contract/operators.h"
#include "extension/aclnn/symbols.h"

namespace torch_aclnn {

static bool begins_with(std::string_view text, std::string_view start) {
    return text.substr(0, start.size()) == start;
}

// Returns no product for one that is not known, or newer than the pages.
static std::optional<Product> product_of(std::string_view soc) {
    if (begins_with(soc, "Ascend310P")) return Product::inference;
    if (begins_with(soc, "Ascend310B")) return Product::edge;
    if (begins_with(soc, "Ascend910_")) return Product::a3;
    // The name Ascend910B without a suffix is a product of the first generation.
    if (begins_with(soc, "Ascend910B") && soc.size() > std::string_view("Ascend910B").size()) return Product::a2;
    return begins_with(soc, "Ascend910") ? std::optional(Product::former) : std::nullopt;
}

// The runtime has no name before it is initialised.
static const char* soc_name() {
    static std::atomic<const char*> known{nullptr};
    if (const char* name = known) return name;
    const auto get_name = reinterpret_cast<const char* (*)()>(find_in_runtime("aclrtGetSocName"));
    return get_name == nullptr ? nullptr : known = get_name();
}

static std::optional<Product> product() {
    const char* name = soc_name();
    return name == nullptr ? std::nullopt : product_of(name);
}

// Whether both phases of an entry point exist; a release or an installation of CANN may be without them.
static bool is_in_library(const std::string& entry_point) {
    return find_operator(entry_point.c_str()) != nullptr && find_operator((entry_point + "GetWorkspaceSize").c_str()) != nullptr;
}

// Whether the library has the entry point of each row of kListed.
static const auto& in_library() {
    static const auto once = [] {
        std::array<bool, std::size(kListed)> found{};
        std::transform(std::begin(kListed), std::end(kListed), found.begin(),
                       [](const Listed& row) { return is_in_library(row.entry_point); });
        return found;
    }();
    return once;
}

bool is_offered(const char* operator_name) {
    const Listed& row = listed(operator_name);
    return in_library()[static_cast<size_t>(&row - kListed)] && (!product() || row.products.has(*product()));
}

bool is_a2_or_later() {
    return !product() || kA2AndA3.has(*product());
}

}  // namespace torch_aclnn
