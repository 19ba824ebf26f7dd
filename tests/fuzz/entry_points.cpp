#include "entry_points.h"

#include "aclnnop/aclnn_adaptive_avg_pool2d_backward.h"
#include "aclnnop/aclnn_adaptive_avg_pool3d_backward.h"
#include "aclnnop/aclnn_avgpool2d_backward.h"
#include "aclnnop/aclnn_avgpool3d_backward.h"
#include "aclnnop/aclnn_batch_norm_elemt_backward.h"
#include "aclnnop/aclnn_circular_pad2d_backward.h"
#include "aclnnop/aclnn_circular_pad3d_backward.h"
#include "aclnnop/aclnn_max_unpool2d_backward.h"
#include "aclnnop/aclnn_max_unpool3d_backward.h"
#include "aclnnop/aclnn_pad2d_backward.h"
#include "aclnnop/aclnn_reflection_pad1d_backward.h"
#include "aclnnop/aclnn_reflection_pad3d_backward.h"
#include "aclnnop/aclnn_replication_pad1d_backward.h"
#include "aclnnop/aclnn_replication_pad3d_backward.h"

namespace fuzz {
namespace {

using Call_ = const Call&;
using Arguments_ = const Arguments&;

int average2d(Call_ c, Arguments_ a, uint64_t* size, aclOpExecutor** executor) {
    return aclnnAvgPool2dBackwardGetWorkspaceSize(a.tensors[0], a.tensors[1], a.arrays[0], a.arrays[1], a.arrays[2], c.ceil_mode,
                                                  c.count_include_pad, c.divisor, c.cube_math_type, a.tensors[2], size, executor);
}

int average3d(Call_ c, Arguments_ a, uint64_t* size, aclOpExecutor** executor) {
    return aclnnAvgPool3dBackwardGetWorkspaceSize(a.tensors[0], a.tensors[1], a.arrays[0], a.arrays[1], a.arrays[2], c.ceil_mode,
                                                  c.count_include_pad, c.divisor, a.tensors[2], size, executor);
}

// Gradient, self and result alone.
template <auto phase1>
int adaptive(Call_, Arguments_ a, uint64_t* size, aclOpExecutor** executor) {
    return phase1(a.tensors[0], a.tensors[1], a.tensors[2], size, executor);
}

template <auto phase1>
int padding(Call_, Arguments_ a, uint64_t* size, aclOpExecutor** executor) {
    return phase1(a.tensors[0], a.tensors[1], a.arrays[0], a.tensors[2], size, executor);
}

int unpool2d(Call_, Arguments_ a, uint64_t* size, aclOpExecutor** executor) {
    return aclnnMaxUnpool2dBackwardGetWorkspaceSize(a.tensors[0], a.tensors[1], a.tensors[2], a.arrays[0], a.tensors[3], size, executor);
}

int unpool3d(Call_, Arguments_ a, uint64_t* size, aclOpExecutor** executor) {
    return aclnnMaxUnpool3dBackwardGetWorkspaceSize(a.tensors[0], a.tensors[1], a.tensors[2], a.arrays[0], a.arrays[1], a.arrays[2],
                                                    a.tensors[3], size, executor);
}

int batch_norm(Call_, Arguments_ a, uint64_t* size, aclOpExecutor** executor) {
    const auto& t = a.tensors;
    return aclnnBatchNormElemtBackwardGetWorkspaceSize(t[0], t[1], t[2], t[3], t[4], t[5], t[6], t[7], t[8], size, executor);
}

constexpr Role read = Role::read, shape = Role::shape_only, written = Role::written;

// The entry point with the call of its first phase.
#define ADAPTIVE(dims, name) {Kind::adaptive, dims, #name, kAdaptive, 0, adaptive<name##GetWorkspaceSize>, name}
#define PADDING(kind, dims, name) {Kind::kind, dims, #name, kGradient, 1, padding<name##GetWorkspaceSize>, name}

}  // namespace

const std::vector<EntryPoint>& entry_points() {
    static const std::vector<Parameter> kGradient{{"gradOutput", read}, {"self", shape}, {"gradInput", written}};
    static const std::vector<Parameter> kVolume{{"gradOutput", read}, {"self", shape}, {"output", written}};
    static const std::vector<Parameter> kAdaptive{{"gradOutput", read}, {"self", shape}, {"out", written}};
    static const std::vector<Parameter> kUnpool{{"gradOutput", read}, {"self", shape}, {"indices", read}, {"out", written}};
    static const std::vector<Parameter> kBatchNorm{{"gradOut", read},  {"input", read},        {"mean", read},
                                                   {"invstd", read},   {"weight", read, true}, {"sumDy", read},
                                                   {"sumDyXmu", read}, {"counter", read},      {"gradInput", written}};
    static const std::vector<EntryPoint> all{
        {Kind::average, 2, "aclnnAvgPool2dBackward", kGradient, 3, average2d, aclnnAvgPool2dBackward},
        ADAPTIVE(2, aclnnAdaptiveAvgPool2dBackward),
        ADAPTIVE(3, aclnnAdaptiveAvgPool3dBackward),
        PADDING(replication, 2, aclnnReplicationPad2dBackward),
        PADDING(reflection, 2, aclnnReflectionPad2dBackward),
        {Kind::unpool, 3, "aclnnMaxUnpool3dBackward", kUnpool, 3, unpool3d, aclnnMaxUnpool3dBackward},
        {Kind::batch_norm, 0, "aclnnBatchNormElemtBackward", kBatchNorm, 0, batch_norm, aclnnBatchNormElemtBackward},
        {Kind::average, 3, "aclnnAvgPool3dBackward", kVolume, 3, average3d, aclnnAvgPool3dBackward},
        PADDING(replication, 1, aclnnReplicationPad1dBackward),
        PADDING(replication, 3, aclnnReplicationPad3dBackward),
        PADDING(reflection, 1, aclnnReflectionPad1dBackward),
        PADDING(reflection, 3, aclnnReflectionPad3dBackward),
        PADDING(circular, 2, aclnnCircularPad2dBackward),
        PADDING(circular, 3, aclnnCircularPad3dBackward),
        {Kind::unpool, 2, "aclnnMaxUnpool2dBackward", kUnpool, 1, unpool2d, aclnnMaxUnpool2dBackward},
    };
    return all;
}

}  // namespace fuzz
