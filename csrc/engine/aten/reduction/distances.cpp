// Distances between points, and functions of square matrices. Half types are computed in float32.

#include "vocabulary/reduction/distances_calls.h"

static NamedShape square(const NamedShape& matrices) {
    const size_t rank = matrices.sizes.size();
    if (rank < 2 || matrices.sizes[rank - 1] != matrices.sizes[rank - 2])
        refuse(matrices.name, "square matrices", shape_text(matrices.sizes));
    return matrices;
}
static Expected of_matrices(const NamedShape& matrices) {
    return square(matrices).sizes.slice(0, matrices.sizes.size() - 2);
}

// The shape of the distances from each point of x1 to each point of x2, for batches that broadcast.
static Expected distances(const at::Tensor& x1, const at::Tensor& x2) {
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
static double order(float p) {
    return p == -1 ? kInfinity : p;
}

static Expected of_points(const at::Tensor& points) {
    return points.sizes().slice(0, 2);
}
// Returns the gradient, by the points themselves, of the squared distances from each point to the one that its index names.
static at::Tensor to_nearest(const at::Tensor& from, const at::Tensor& to, const at::Tensor& index, const at::Tensor& grad) {
    return 2 * upcast(grad).unsqueeze(-1) * (upcast(from) - upcast(to).gather(1, index));
}

static void compute(const call::Cdist& a) {
    constexpr int64_t kNoProducts = 2;
    write(a.out, at::_cdist_forward(upcast(a.x1), upcast(a.x2), a.p, kNoProducts));
}

// For each point of either set there is a nearest point in the other set.
static void compute(const call::ChamferDistanceBackward& a) {
    require_indices("idx1", a.idx1, a.xyz2.size(1));
    require_indices("idx2", a.idx2, a.xyz1.size(1));
    const auto of_both = [](const at::Tensor& index) { return index.to(at::kLong).unsqueeze(-1).expand({-1, -1, 2}); };
    const at::Tensor nearest1 = of_both(a.idx1), nearest2 = of_both(a.idx2);
    const at::Tensor of_first = to_nearest(a.xyz1, a.xyz2, nearest1, a.gradDist1),
                     of_second = to_nearest(a.xyz2, a.xyz1, nearest2, a.gradDist2);
    write(a.gradXyz1, of_first.scatter_add(1, nearest2, -of_second));
    write(a.gradXyz2, of_second.scatter_add(1, nearest1, -of_first));
}
