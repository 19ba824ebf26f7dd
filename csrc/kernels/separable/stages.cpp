#include "kernels/separable/stages.h"

#include "kernels/simd/isa.h"

namespace torch_aclnn::kernels {

int64_t gather_lanes() {
#if defined(__x86_64__) && !defined(TORCH_ACLNN_SCALAR_ONLY)
    if (isa() == Isa::avx512) return 16;
    if (isa() == Isa::avx2) return 8;
#endif
    return 0;
}

PlaneStages::PlaneStages(const AxisTable& rows, const AxisTable& columns) {
    const int64_t lanes = gather_lanes();  // this many elements may be read behind a plane and behind a line of sums
    std::vector<GatherRow> of_rows, of_columns;
    for (int64_t i = 0; i < rows.in; ++i) {
        of_rows.push_back({rows.first[i], rows.last[i], 0});
        for (int64_t k = 0; k < columns.in; ++k) of_columns.push_back({columns.first[k], columns.last[k], i * columns.out});
    }
    tables_[0] = GatherPlan(lanes, of_rows, columns.out, rows.out * columns.out + lanes, [&](int64_t term) { return rows.index(term); });
    tables_[1] = GatherPlan(lanes, of_columns, 1, rows.in * columns.out + lanes, [&](int64_t term) { return columns.index(term); });
    if (rows.scale != nullptr)
        tables_[0].set_weights(of_rows, columns.out, [&](int64_t term) { return *rows.scale_from<float>(rows.index(term)); });
    if (columns.scale == nullptr) return;
    scale_.resize(tables_[0].padded_count());
    auto place = scale_.begin();
    for (int64_t i = 0; i < rows.in; ++i) place = std::copy_n(columns.scale_from<float>(0), columns.out, place);
}

}  // namespace torch_aclnn::kernels
