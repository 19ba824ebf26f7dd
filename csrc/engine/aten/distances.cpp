// Distances between points, and functions of square matrices. Half types are computed in float32.
#include <ATen/ATen.h>

#include <limits>

#include "engine/aten/adapter/adapter.h"
#include "engine/aten/adapter/indices.h"
#include "engine/aten/adapter/results.h"

#define ATEN_FAMILY "linear algebra"
using namespace torch_aclnn::host::aten;

namespace {

using torch_aclnn::host::refuse;

NamedShape square(const NamedShape& matrices) {
    const size_t rank = matrices.sizes.size();
    if (rank < 2 || matrices.sizes[rank - 1] != matrices.sizes[rank - 2])
        refuse(matrices.name, "square matrices", shape_text(matrices.sizes));
    return matrices;
}
// One number for each matrix.
Expected of_matrices(const NamedShape& matrices) {
    return square(matrices).sizes.slice(0, matrices.sizes.size() - 2);
}

// From each of the points of x1 to each of those of x2, in batches that broadcast.
Expected distances(const at::Tensor& x1, const at::Tensor& x2) {
    NamedShape batch1("x1", x1), batch2("x2", x2);
    for (NamedShape* points : {&batch1, &batch2}) {
        if (points->sizes.size() < 2) refuse(points->name, "at least 2 dimensions", shape_text(points->sizes));
        points->sizes = points->sizes.slice(0, points->sizes.size() - 2);
    }
    if (x1.size(-1) != x2.size(-1)) refuse("x2", c10::str("points of ", x1.size(-1), " coordinates, as x1 has"), shape_text(x2.sizes()));
    Expected expected = broadcast({batch1, batch2});
    expected.sizes.push_back(x1.size(-2));
    expected.sizes.push_back(x2.size(-2));
    return expected;
}

// The order of the norm, for which -1 stands for infinity.
constexpr float kInfinite = -1;
void require_order(float p) {
    if (p != kInfinite) require_number_between("p", double{p}, 0.0, std::numeric_limits<double>::infinity());
}

// Points of the plane, in batches, and a number for each of them.
void require_points(const NamedShape& points) {
    if (points.sizes.size() != 3 || points.sizes[2] != 2) refuse(points.name, "{batch, points, 2}", shape_text(points.sizes));
}
void require_points(const NamedShape& xyz1, const NamedShape& xyz2) {
    require_points(xyz1);
    require_points(xyz2);
    if (xyz1.sizes[0] != xyz2.sizes[0]) refuse(xyz2.name, c10::str("the batch of ", xyz1.name, ", ", xyz1.sizes), shape_text(xyz2.sizes));
}
Expected of_points(const at::Tensor& points) {
    return points.sizes().slice(0, 2);
}
// The gradient of the squared distances from each point to the one that its index names: of the points themselves.
at::Tensor to_nearest(const at::Tensor& from, const at::Tensor& to, const at::Tensor& index, const at::Tensor& grad) {
    return 2 * upcast(grad).unsqueeze(-1) * (upcast(from) - upcast(to).gather(1, index));
}

}  // namespace

namespace torch_aclnn::host::aten::kind {
using DistanceMode = Between<int64_t, 0, 2>;  // whether products of matrices may be used, which would lose digits
}  // namespace torch_aclnn::host::aten::kind

ATEN_ENTRY(aclnnCdist, ANY, (In, x1), (In, x2), (NotNegativeFloat, p), (DistanceMode, computeMode), (Out, out, distances(x1, x2))) {
    constexpr int64_t kNoProducts = 2;
    write(out, at::_cdist_forward(upcast(x1), upcast(x2), p, kNoProducts));
}
ATEN_CHECKED_ENTRY(aclnnCdistBackward, ANY, require_order(p), (In, grad, distances(x1, x2)), (In, x1), (In, x2),
                   (In, cdist, distances(x1, x2)), (Float, p), (Out, out, shaped_like(x1))) {
    write(out, at::_cdist_backward(dense(grad), dense(x1), dense(x2), p == kInfinite ? std::numeric_limits<double>::infinity() : p,
                                   dense(cdist)));
}

ATEN_CHECKED_ENTRY(aclnnLinalgCholesky, ANY, square({"self", self}), (In, self), (Bool, upper), (Out, out, like(self))) {
    write(out, at::linalg_cholesky(upcast(self), upper));
}
ATEN_ENTRY(aclnnSlogdet, FLOAT | DOUBLE | COMPLEX, (In, self), (Out, signOut, of_matrices({"self", self})),
           (Out, logOut, of_matrices({"self", self}))) {
    const auto [sign, logarithm] = at::slogdet(self);
    write(signOut, sign);
    write(logOut, logarithm);
}
ATEN_ENTRY(aclnnLogdet, FLOAT | DOUBLE | COMPLEX, (In, self), (Out, out, of_matrices({"self", self}))) {
    write(out, at::logdet(self));
}

// Each point of both sets has a nearest one in the other.
ATEN_CHECKED_ENTRY(aclnnChamferDistanceBackward, ANY, require_points({"xyz1", xyz1}, {"xyz2", xyz2}), (In, xyz1), (In, xyz2),
                   (Indices, idx1, of_points(xyz1)), (Indices, idx2, of_points(xyz2)), (In, gradDist1, of_points(xyz1)),
                   (In, gradDist2, of_points(xyz2)), (Out, gradXyz1, like(xyz1)), (Out, gradXyz2, like(xyz2))) {
    require_indices("idx1", idx1, xyz2.size(1));
    require_indices("idx2", idx2, xyz1.size(1));
    const auto of_both = [](const at::Tensor& index) { return index.to(at::kLong).unsqueeze(-1).expand({-1, -1, 2}); };
    const at::Tensor nearest1 = of_both(idx1), nearest2 = of_both(idx2);
    const at::Tensor of_first = to_nearest(xyz1, xyz2, nearest1, gradDist1), of_second = to_nearest(xyz2, xyz1, nearest2, gradDist2);
    write(gradXyz1, of_first.scatter_add(1, nearest2, -of_second));
    write(gradXyz2, of_second.scatter_add(1, nearest1, -of_first));
}
