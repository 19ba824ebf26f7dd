// What the published pages list of an entry point: on which products it is there, and with which data types.
#pragma once

#include "contract/operators.h"
#include "engine/opapi/dtypes.h"
#include "engine/runtime/config/config.h"

namespace torch_aclnn::host {

// What the newest page lists, which is of 8.5.0.alpha001 unless the operator's page in docs/operators names another. What is assumed is not
// listed, but torch_npu passes it; strict mode refuses it.
struct Offer {
    DTypes dtypes;  // the gradient's types
    Products products;
    DTypes assumed_dtypes = NO_DTYPE;
    Products assumed_products = {};

    constexpr DTypes taken() const { return dtypes | assumed_dtypes; }
};

// Returns the data types of the offer that are accepted in the present mode.
DTypes accepted_dtypes(const Offer& offer);

// 161002 unless the product that the engine presents offers the entry point.
void require_product(const Offer& offer);

}  // namespace torch_aclnn::host

// Makes the Offer of an operator from its row in contract/operators.h.
#define OPAPI_OFFER(name, dtypes, assumed_dtypes) \
    (::torch_aclnn::host::Offer{dtypes, ::torch_aclnn::listed(#name).products, assumed_dtypes, ::torch_aclnn::listed(#name).assumed})
