// Forms of the same pooling that suit the loops better: longer rows, and fewer planes of more rows.
#pragma once

#include "kernels/average_pool/average_pool.h"

namespace torch_aclnn::kernels {

// What is to be computed, in the form that suits the loops best.
struct Geometry {
    View<4> grad_output, grad_input;
    WindowAxis rows, columns;
    RegularWindows regular;
    // How many adjacent numbers are a column. The last dimension of the views counts numbers, and `columns` cells of them.
    int64_t inner = 1;
};

// Few adjacent channels, and columns without gaps between them, become cells of one channel.
Geometry join_channels(Geometry geometry);

// If one window holds all columns, no row lies in two, and all windows are of one size, the rows of a plane are one long row, of which each
// window holds a part. So each sum still has one term, and the same scale. It takes short rows, and enough planes to pay for the long row's
// windows.
Geometry join_rows(Geometry geometry);

// True if each row lies in exactly one window and no column reads beyond the sums of its row.
bool takes_whole_planes(const Geometry& geometry);

// Takes several dense planes for one of more rows.
Geometry merge_channels(Geometry geometry);

}  // namespace torch_aclnn::kernels
