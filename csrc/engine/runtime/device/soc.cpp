#include "engine/runtime/device/soc.h"

namespace torch_aclnn::host {
namespace {

struct Soc {
    const char* name;
    Product product;
};

// Names that torch_npu knows and whose operator lists are documented. "Ascend910B" without a digit is the first-generation
// training chip; the digits make it A2.
constexpr Soc kSocs[] = {
    {"Ascend310P1", Product::inference},
    {"Ascend310P2", Product::inference},
    {"Ascend310P3", Product::inference},
    {"Ascend310P4", Product::inference},
    {"Ascend310P5", Product::inference},
    {"Ascend310P7", Product::inference},
    {"Ascend910A", Product::training},
    {"Ascend910B", Product::training},
    {"Ascend910ProA", Product::training},
    {"Ascend910ProB", Product::training},
    {"Ascend910PremiumA", Product::training},
    {"Ascend910B1", Product::a2},
    {"Ascend910B2", Product::a2},
    {"Ascend910B2C", Product::a2},
    {"Ascend910B3", Product::a2},
    {"Ascend910B4", Product::a2},
    {"Ascend910B4-1", Product::a2},
};

}  // namespace

std::optional<Product> find_product(const std::string& soc_name) {
    for (const Soc& soc : kSocs)
        if (soc_name == soc.name) return soc.product;
    return std::nullopt;
}

std::string known_socs() {
    std::string names = "one of ";
    for (const Soc& soc : kSocs) {
        if (names.back() != ' ') names += ", ";
        names += soc.name;
    }
    return names;
}

}  // namespace torch_aclnn::host
