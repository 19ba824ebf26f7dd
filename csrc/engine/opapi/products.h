// What the published pages list of an entry point: on which products it is there, and with which data types.
#pragma once

#include "contract/operators.h"
#include "engine/opapi/dtypes.h"
#include "engine/runtime/config/config.h"

namespace torch_aclnn::host {

// By the newest page, which is of 8.5.0.alpha001 unless the operator's own page (docs/operators) says another. What is assumed no page
// lists, and torch_npu passes it; strict mode refuses it.
struct Offer {
    DTypes dtypes;  // of the gradient
    Products products;
    DTypes assumed_dtypes = NO_DTYPE;
    Products assumed_products = {};

    constexpr DTypes taken() const { return dtypes | assumed_dtypes; }
};

// Of the data types those that are taken in the present mode.
DTypes accepted_dtypes(const Offer& offer);

// 161002 unless the product that the engine presents offers the entry point.
void require_product(const Offer& offer);

}  // namespace torch_aclnn::host

// Of a row of contract/operators.h.
#define OPAPI_OFFER(name, dtypes, assumed_dtypes) \
    (::torch_aclnn::host::Offer{dtypes, ::torch_aclnn::listed(#name).products, assumed_dtypes, ::torch_aclnn::listed(#name).assumed})
