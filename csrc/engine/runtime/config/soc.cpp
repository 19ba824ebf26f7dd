#include "engine/runtime/config/soc.h"

#include <algorithm>
#include <iterator>
#include <stdexcept>

namespace torch_aclnn::host {
namespace {

// torch_npu takes bfloat16 for Ascend310B too, but the pages list it for A2 and A3.
constexpr ProductTraits kTraits[] = {
    {Product::inference, "inference", false, false, true},
    {Product::a2, "A2", true, true, false},
    {Product::a3, "A3", true, true, false},
    {Product::edge, "310B", false, true, false},
    {Product::ascend950, "950", true, true, false},
};

struct Soc {
    const char* name;
    Product product;
};

constexpr Soc kSocs[] = {
    {"Ascend310P1", Product::inference}, {"Ascend310P2", Product::inference}, {"Ascend310P3", Product::inference},
    {"Ascend310P4", Product::inference}, {"Ascend310P5", Product::inference}, {"Ascend310P7", Product::inference},
    {"Ascend910B1", Product::a2},        {"Ascend910B2", Product::a2},        {"Ascend910B2C", Product::a2},
    {"Ascend910B3", Product::a2},        {"Ascend910B4", Product::a2},        {"Ascend910B4-1", Product::a2},
    {"Ascend910_9362", Product::a3},     {"Ascend910_9363", Product::a3},     {"Ascend910_9372", Product::a3},
    {"Ascend910_9381", Product::a3},     {"Ascend910_9382", Product::a3},     {"Ascend910_9391", Product::a3},
    {"Ascend910_9392", Product::a3},     {"Ascend310B1", Product::edge},      {"Ascend310B2", Product::edge},
    {"Ascend310B3", Product::edge},      {"Ascend310B4", Product::edge},
};
// torch_npu accepts every name that begins with this.
constexpr char kAscend950[] = "Ascend950";
// Chips of the first generation. A digit behind "Ascend910B" makes it an A2.
constexpr const char* kFormer[] = {"Ascend910A", "Ascend910B", "Ascend910ProA", "Ascend910ProB", "Ascend910PremiumA"};

}  // namespace

const ProductTraits& traits_of(Product product) {
    const auto* const found = std::find_if(std::begin(kTraits), std::end(kTraits), [&](const auto& t) { return t.product == product; });
    if (found == std::end(kTraits)) throw std::logic_error("a product without traits");
    return *found;
}

std::optional<Product> find_product(const std::string& soc_name) {
    for (const Soc& soc : kSocs)
        if (soc_name == soc.name) return soc.product;
    if (soc_name.rfind(kAscend950, 0) == 0) return Product::ascend950;
    return std::nullopt;
}

std::string known_socs(const std::string& instead_of) {
    if (std::find(std::begin(kFormer), std::end(kFormer), instead_of) != std::end(kFormer))
        return "Ascend910B3 or another name of A2, as the first Ascend 910, which calls operators by name, is presented no more";
    std::string names = "one of ";
    for (const Soc& soc : kSocs) names += std::string(soc.name) + ", ";
    return names + "or a name that begins with " + kAscend950;
}

}  // namespace torch_aclnn::host
