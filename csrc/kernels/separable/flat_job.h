// What the loop of small planes takes. Plain data, because it is compiled for several instruction sets.
#pragma once

#include "kernels/separable/gather_table.h"
#include "kernels/support/dtype.h"

namespace torch_aclnn::kernels {

// The sums along one axis: results from the results of the stage before, or from a plane of the source.
struct FlatStage {
    GatherTable table;
    const float* scale;  // for each result, null: ones; a result of -0 times its scale is 0
};

struct FlatPlanesJob {
    static constexpr int kMaxStages = 3;
    FlatStage stages[kMaxStages];
    int stage_count;
    DType dtype;  // a type whose sums are float
    const void* source;
    void* target;
    int64_t channels, source_stride[2], target_stride[2];  // of samples and channels; a plane of either has no gaps
    int64_t plane_size, source_size;                       // of the target, and of the source
    int64_t source_end;                                    // where the source's last plane ends, in elements from its first one
    bool widens;                                           // planes of half types become float first, of which a machine gathers elements
    int64_t planes_per_group, line_size;                   // of so many planes a stage is done at once, and how far apart their sums are
    int64_t sum_bytes, source_bytes, sink_bytes;  // parts of the scratch memory: two blocks of sums, a plane of the source, the sink
    bool stream;                                  // write around the caches
};

// Makes the planes [begin, end), counted over samples and channels. `scratch` has as many bytes as the plan asks for.
using FlatPlanesLoop = void(const FlatPlanesJob& job, int64_t begin, int64_t end, void* scratch);
namespace avx2 {
FlatPlanesLoop flat_planes;
}
namespace avx512 {
FlatPlanesLoop flat_planes;
}

}  // namespace torch_aclnn::kernels
