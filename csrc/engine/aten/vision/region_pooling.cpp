// Averages of what lies in regions of images, on a grid of samples between the pixels.

#include <cmath>

#include "vocabulary/vision/region_pooling_calls.h"

namespace {

// Regions {n, 4} of two corners, or {n, 5} with the image before them.
struct Regions {
    const char* name;  // the parameter's name
    const at::Tensor& boxes;
    int64_t height, width;  // the size of the result, in cells
    double scale;
    int64_t samples;  // per direction of a cell; 0: as many as it has pixels
    bool aligned;     // whether pixels are at the middle of their squares
    int64_t end = 0;  // added to the second corner, if that is the last pixel's

    Expected pooled(const at::Tensor& self) const {
        const at::IntArrayRef sizes = self.sizes();
        if (self.dim() != 4 || std::find(sizes.begin(), sizes.end(), 0) != sizes.end())
            refuse("self", "4 dimensions, none of them empty", shape_text(sizes));
        return Expected({boxes.size(0), sizes[1], height, width}, self.scalar_type());
    }
    // Returns how much each of `size` pixels along a direction counts in each cell of a region {cells, size}. A sample lies between two
    // pixels, those at the edges reach a pixel outwards, and what is beyond counts as 0.
    at::Tensor weights(double first, double last, int64_t cells, int64_t size) const {
        const double offset = aligned ? 0.5 : 0, start = first * scale - offset, stop = (last + static_cast<double>(end)) * scale;
        const double length = aligned ? stop - offset - start : std::max(stop - start, 1.0);
        const double wanted = samples > 0 ? static_cast<double>(samples) : std::ceil(length / static_cast<double>(cells));
        constexpr double kMost = 1 << 20;
        if (!std::isfinite(start) || !(wanted <= kMost)) refuse(name, "regions of at most 2^20 samples a cell", c10::str(length));
        const auto each = static_cast<int64_t>(wanted);
        if (each <= 0) return at::zeros({cells, size}, at::kDouble);
        const double step = length / static_cast<double>(cells * each);
        const at::Tensor place = at::arange(cells * each, at::kDouble).add(0.5).mul(step).add(start);
        const at::Tensor inside = place.ge(-1).logical_and(place.le(size)).to(at::kDouble) / static_cast<double>(each);
        const at::Tensor within = place.clamp(0, size - 1), low = within.floor(), fraction = within - low;
        at::Tensor result = at::zeros({cells * each, size}, at::kDouble);
        const auto add = [&](const at::Tensor& pixel, const at::Tensor& part) {
            result.scatter_add_(1, pixel.clamp_max(size - 1).to(at::kLong).unsqueeze(1), (part * inside).unsqueeze(1));
        };
        add(low, 1 - fraction);
        add(low + 1, fraction);
        return result.view({cells, each, size}).sum(1);
    }
    // Calls `visit` for each region with its image and its weights in both directions.
    void for_each(const at::Tensor& images, at::IntArrayRef sizes, const auto& visit) const {
        const at::Tensor image = images.to(at::kDouble).floor().to(at::kLong), corners = boxes.slice(1, -4).to(at::kDouble).contiguous();
        require_indices(name, image, sizes[0]);
        for (int64_t i = 0; i < boxes.size(0); i++) {
            const double* corner = corners.const_data_ptr<double>() + 4 * i;
            visit(i, image[i].item<int64_t>(), weights(corner[1], corner[3], height, sizes[2]),
                  weights(corner[0], corner[2], width, sizes[3]));
        }
    }
    void pool(const at::Tensor& self, const at::Tensor& images, const at::Tensor& out) const {
        const at::Tensor pixels = self.to(at::kDouble);
        at::Tensor pooled = at::empty(out.sizes(), at::kDouble);
        for_each(images, self.sizes(), [&](int64_t i, int64_t image, const at::Tensor& rows, const at::Tensor& columns) {
            pooled.select(0, i).copy_(at::matmul(at::matmul(rows, pixels.select(0, image)), columns.t()));
        });
        write(out, pooled);
    }
    void spread(const at::Tensor& grad, const at::Tensor& images, const at::Tensor& out) const {
        at::Tensor sums = at::zeros(out.sizes(), at::kDouble);
        for_each(images, out.sizes(), [&](int64_t i, int64_t image, const at::Tensor& rows, const at::Tensor& columns) {
            sums.select(0, image).add_(at::matmul(at::matmul(rows.t(), grad.select(0, i).to(at::kDouble)), columns));
        });
        write(out, sums);
    }
};

// Mode 1 adds one to the second corner, and torch_npu passes 3 for regions whose pixels are at the middle of their squares.
Regions regions_of_mode(const auto& a) {
    return {"rois", a.rois, a.pooledHeight, a.pooledWidth, a.spatialScale, a.sampleNum, a.roiEndMode == 3, a.roiEndMode == 1 ? 1 : 0};
}

Expected with_cells(const char* name, at::IntArrayRef sizes, const at::Tensor& boxes, int64_t height, int64_t width) {
    if (boxes.dim() != 2) refuse(name, "2 dimensions", shape_text(boxes.sizes()));
    return shape({boxes.size(0), sizes[1], height, width});
}
Expected boxes_of(const char* name, const at::Tensor& boxes, int64_t numbers) {
    if (boxes.dim() != 2) refuse(name, "2 dimensions", shape_text(boxes.sizes()));
    return shape({boxes.size(0), numbers});
}

}  // namespace
