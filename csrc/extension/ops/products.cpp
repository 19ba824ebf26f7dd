#include "extension/ops/products.h"

#include <string_view>

#include "extension/aclnn/symbols.h"

namespace torch_aclnn {
namespace {

enum Product : unsigned { inference = 1, training = 2, a2 = 4, a3 = 8, edge = 16, unknown = 32 };

bool begins_with(std::string_view text, std::string_view start) {
    return text.substr(0, start.size()) == start;
}

Product product_of(std::string_view soc) {
    if (begins_with(soc, "Ascend310P")) return inference;
    if (begins_with(soc, "Ascend310B")) return edge;
    if (begins_with(soc, "Ascend910_")) return a3;
    // Ascend910B by itself is of the first generation.
    if (begins_with(soc, "Ascend910B") && soc.size() > std::string_view("Ascend910B").size()) return a2;
    return begins_with(soc, "Ascend910") ? training : unknown;
}

Product product() {
    static const Product once = [] {
        const auto get_name = reinterpret_cast<const char* (*)()>(find_in_runtime("aclrtGetSocName"));
        const char* name = get_name == nullptr ? nullptr : get_name();
        return name == nullptr ? unknown : product_of(name);
    }();
    return once;
}

struct Offer {
    std::string_view operator_name;
    unsigned not_on;
};
constexpr Offer kOffers[] = {
    {"avg_pool2d", edge},
    {"avg_pool3d", inference | training | edge},
    {"adaptive_avg_pool2d", edge},
    {"adaptive_avg_pool3d", inference | training | edge},
    {"replication_pad1d", edge},
    {"replication_pad2d", edge},
    {"replication_pad3d", inference | edge},
    {"reflection_pad1d", edge},
    {"reflection_pad2d", edge},
    {"reflection_pad3d", inference | edge},
    {"circular_pad2d", inference | training | edge},
    {"circular_pad3d", inference | training | edge},
    {"max_unpool2d", inference | edge},
    {"max_unpool3d", inference | edge},
    {"batch_norm_elemt", inference | edge},
};

}  // namespace

bool is_offered(const char* operator_name) {
    for (const Offer& offer : kOffers)
        if (offer.operator_name == operator_name) return (offer.not_on & product()) == 0;
    return true;
}

bool is_a2_or_later() {
    return (product() & (a2 | a3 | unknown)) != 0;
}

}  // namespace torch_aclnn
