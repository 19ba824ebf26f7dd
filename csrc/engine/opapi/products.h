// Which product offers which entry point.
#pragma once

namespace torch_aclnn::host {

// 161002 unless the product that the engine presents offers the entry point, which must be one of the table.
void require_product(const char* entry_point);

}  // namespace torch_aclnn::host
