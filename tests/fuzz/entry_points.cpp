#include "entry_points.h"

#include "aclnnop/aclnn_adaptive_avg_pool2d_backward.h"
#include "aclnnop/aclnn_adaptive_avg_pool3d_backward.h"
#include "aclnnop/aclnn_avgpool2d_backward.h"
#include "aclnnop/aclnn_batch_norm_elemt_backward.h"
#include "aclnnop/aclnn_max_unpool3d_backward.h"
#include "aclnnop/aclnn_pad2d_backward.h"

namespace fuzz {
namespace {

using Call_ = const Call&;
using Arguments_ = const Arguments&;

int average(Call_ c, Arguments_ a, uint64_t* size, aclOpExecutor** executor) {
    return aclnnAvgPool2dBackwardGetWorkspaceSize(a.tensors[0], a.tensors[1], a.arrays[0], a.arrays[1], a.arrays[2], c.ceil_mode,
                                                  c.count_include_pad, c.divisor, c.cube_math_type, a.tensors[2], size, executor);
}

int adaptive2d(Call_, Arguments_ a, uint64_t* size, aclOpExecutor** executor) {
    return aclnnAdaptiveAvgPool2dBackwardGetWorkspaceSize(a.tensors[0], a.tensors[1], a.tensors[2], size, executor);
}

int adaptive3d(Call_, Arguments_ a, uint64_t* size, aclOpExecutor** executor) {
    return aclnnAdaptiveAvgPool3dBackwardGetWorkspaceSize(a.tensors[0], a.tensors[1], a.tensors[2], size, executor);
}

int replication(Call_, Arguments_ a, uint64_t* size, aclOpExecutor** executor) {
    return aclnnReplicationPad2dBackwardGetWorkspaceSize(a.tensors[0], a.tensors[1], a.arrays[0], a.tensors[2], size, executor);
}

int reflection(Call_, Arguments_ a, uint64_t* size, aclOpExecutor** executor) {
    return aclnnReflectionPad2dBackwardGetWorkspaceSize(a.tensors[0], a.tensors[1], a.arrays[0], a.tensors[2], size, executor);
}

int unpool(Call_, Arguments_ a, uint64_t* size, aclOpExecutor** executor) {
    return aclnnMaxUnpool3dBackwardGetWorkspaceSize(a.tensors[0], a.tensors[1], a.tensors[2], a.arrays[0], a.arrays[1], a.arrays[2],
                                                    a.tensors[3], size, executor);
}

int batch_norm(Call_, Arguments_ a, uint64_t* size, aclOpExecutor** executor) {
    const auto& t = a.tensors;
    return aclnnBatchNormElemtBackwardGetWorkspaceSize(t[0], t[1], t[2], t[3], t[4], t[5], t[6], t[7], t[8], size, executor);
}

}  // namespace

const std::vector<EntryPoint>& entry_points() {
    constexpr Role read = Role::read, shape = Role::shape_only, written = Role::written;
    static const std::vector<Parameter> kGradient{{"gradOutput", read}, {"self", shape}, {"gradInput", written}};
    static const std::vector<Parameter> kAdaptive{{"gradOutput", read}, {"self", shape}, {"out", written}};
    static const std::vector<EntryPoint> all{
        {Kind::average, "aclnnAvgPool2dBackward", kGradient, 3, average, aclnnAvgPool2dBackward},
        {Kind::adaptive2d, "aclnnAdaptiveAvgPool2dBackward", kAdaptive, 0, adaptive2d, aclnnAdaptiveAvgPool2dBackward},
        {Kind::adaptive3d, "aclnnAdaptiveAvgPool3dBackward", kAdaptive, 0, adaptive3d, aclnnAdaptiveAvgPool3dBackward},
        {Kind::replication, "aclnnReplicationPad2dBackward", kGradient, 1, replication, aclnnReplicationPad2dBackward},
        {Kind::reflection, "aclnnReflectionPad2dBackward", kGradient, 1, reflection, aclnnReflectionPad2dBackward},
        {Kind::unpool,
         "aclnnMaxUnpool3dBackward",
         {{"gradOutput", read}, {"self", shape}, {"indices", read}, {"out", written}},
         3,
         unpool,
         aclnnMaxUnpool3dBackward},
        {Kind::batch_norm,
         "aclnnBatchNormElemtBackward",
         {{"gradOut", read},
          {"input", read},
          {"mean", read},
          {"invstd", read},
          {"weight", read, true},
          {"sumDy", read},
          {"sumDyXmu", read},
          {"counter", read},
          {"gradInput", written}},
         0,
         batch_norm,
         aclnnBatchNormElemtBackward},
    };
    return all;
}

}  // namespace fuzz
