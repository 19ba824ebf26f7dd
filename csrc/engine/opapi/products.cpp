#include "engine/opapi/products.h"

#include <algorithm>
#include <cstring>
#include <initializer_list>
#include <iterator>
#include <stdexcept>
#include <string>

#include "engine/runtime/device/soc.h"

namespace torch_aclnn::host {
namespace {

class Products {
   public:
    constexpr Products(std::initializer_list<Product> products) {
        for (const Product product : products) bits_ |= bit(product);
    }
    constexpr bool has(Product product) const { return (bits_ & bit(product)) != 0; }

   private:
    static constexpr unsigned bit(Product product) { return 1U << static_cast<unsigned>(product); }

    unsigned bits_ = 0;
};

struct Offer {
    const char* entry_point;
    Products listed;   // by the newest page
    Products assumed;  // no page tells, and torch_npu calls it there
};

constexpr auto inference = Product::inference, training = Product::training, a2 = Product::a2, a3 = Product::a3,
               ascend950 = Product::ascend950;

// From the pages of 8.5.0.alpha001; those of aclnnReflectionPad2dBackward and aclnnMaxUnpool3dBackward are 8.3.RC1.alpha001 and 8.2.RC1.
// None of them lists Ascend310B, and none tells of Ascend950.
constexpr Offer kOffers[] = {
    {"aclnnAvgPool2dBackward", {inference, training, a2, a3}, {ascend950}},
    {"aclnnAdaptiveAvgPool2dBackward", {inference, training, a2, a3}, {ascend950}},
    {"aclnnAdaptiveAvgPool3dBackward", {a2, a3}, {ascend950}},
    {"aclnnReplicationPad2dBackward", {inference, training, a2, a3}, {ascend950}},
    {"aclnnReflectionPad2dBackward", {inference, training, a2, a3}, {ascend950}},
    {"aclnnMaxUnpool3dBackward", {training, a2, a3}, {}},
    {"aclnnBatchNormElemtBackward", {training, a2, a3}, {ascend950}},
};

const Offer& offer_of(const char* entry_point) {
    const auto* const found =
        std::find_if(std::begin(kOffers), std::end(kOffers), [&](const Offer& o) { return std::strcmp(o.entry_point, entry_point) == 0; });
    if (found == std::end(kOffers)) throw std::logic_error(std::string(entry_point) + " has no row in the table of products");
    return *found;
}

std::string names_of(const Offer& offer) {
    std::string names;
    for (const Product product : kProducts)
        if (offer.listed.has(product)) names += (names.empty() ? "" : ", ") + std::string(traits_of(product).name);
    return names;
}

}  // namespace

void require_product(const char* entry_point) {
    const Offer& offer = offer_of(entry_point);
    const Product product = config().product;
    if (offer.listed.has(product)) return;
    const bool assumed = offer.assumed.has(product);
    if (assumed && !config().strict) return;
    refuse("product", names_of(offer) + (assumed ? ", as TORCH_ACLNN_HOST_STRICT asks" : ""),
           config().soc_name + ", which is of the " + traits_of(product).name + " products that do not list this operator");
}

}  // namespace torch_aclnn::host
