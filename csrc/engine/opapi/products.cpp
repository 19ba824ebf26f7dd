#include "engine/opapi/products.h"

#include "engine/runtime/config/soc.h"
#include "engine/runtime/error/error.h"

namespace torch_aclnn::host {

static std::string names_of(Products products) {
    std::string names;
    for (const Product product : kProducts)
        if (products.has(product)) names += (names.empty() ? "" : ", ") + std::string(traits_of(product).name);
    return names;
}

DTypes accepted_dtypes(const Offer& offer) {
    return config().strict ? offer.dtypes : offer.taken();
}

void require_product(const Offer& offer) {
    const Product product = config().product;
    if (offer.products.has(product)) return;
    const bool assumed = offer.assumed_products.has(product);
    if (assumed && !config().strict) return;
    refuse("product", names_of(offer.products) + (assumed ? ", as TORCH_ACLNN_HOST_MODE=strict asks" : ""),
           config().soc_name + ", which is of the " + traits_of(product).name + " products that do not list this operator");
}

}  // namespace torch_aclnn::host
