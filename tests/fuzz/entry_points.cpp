#include "entry_points.h"

#include "aclnnop/torch_aclnn_operators.h"
#include "contract/operators.h"

namespace fuzz {

using Call_ = const Call&;
using Arguments_ = const Arguments&;

// The entry point of images takes a cubeMathType, too.
template <auto phase1, size_t dims>
static int average(Call_ c, Arguments_ a, uint64_t* size, aclOpExecutor** executor) {
    const auto call = [&](auto... rest) {
        return phase1(a.tensors[0], a.tensors[1], a.arrays[0], a.arrays[1], a.arrays[2], c.ceil_mode, c.count_include_pad, c.divisor,
                      rest..., a.tensors[2], size, executor);
    };
    if constexpr (dims == 2)
        return call(c.cube_math_type);
    else
        return call();
}

// Entry points that take the gradient, self and the result, and nothing else.
template <auto phase1>
static int adaptive(Call_, Arguments_ a, uint64_t* size, aclOpExecutor** executor) {
    return phase1(a.tensors[0], a.tensors[1], a.tensors[2], size, executor);
}

template <auto phase1>
static int padding(Call_, Arguments_ a, uint64_t* size, aclOpExecutor** executor) {
    return phase1(a.tensors[0], a.tensors[1], a.arrays[0], a.tensors[2], size, executor);
}

// The entry point of volumes takes the pooling's stride and padding, too.
template <auto phase1, size_t dims>
static int unpool(Call_, Arguments_ a, uint64_t* size, aclOpExecutor** executor) {
    const auto call = [&](auto... rest) {
        return phase1(a.tensors[0], a.tensors[1], a.tensors[2], a.arrays[0], rest..., a.tensors[3], size, executor);
    };
    if constexpr (dims == 3)
        return call(a.arrays[1], a.arrays[2]);
    else
        return call();
}

template <auto phase1>
static int batch_norm(Call_, Arguments_ a, uint64_t* size, aclOpExecutor** executor) {
    const auto& t = a.tensors;
    return phase1(t[0], t[1], t[2], t[3], t[4], t[5], t[6], t[7], t[8], size, executor);
}

constexpr Role read = Role::read, shape = Role::shape_only, written = Role::written;

// The entry point with the call of its first phase.
#define ENTRY(Type, dims, kind, tensors, arrays, ...) \
    {Kind::kind, dims, "aclnn" #Type "Backward", tensors, arrays, __VA_ARGS__, aclnn##Type##Backward},
#define AVERAGE(Type, name, dims, aten, kind, ...) \
    ENTRY(Type, dims, kind, dims == 2 ? kGradient : kVolume, 3, average<aclnn##Type##BackwardGetWorkspaceSize, dims>)
#define ADAPTIVE(Type, name, dims, aten, kind, ...) ENTRY(Type, dims, kind, kOut, 0, adaptive<aclnn##Type##BackwardGetWorkspaceSize>)
#define PADDING(Type, name, dims, aten, kind, ...) ENTRY(Type, dims, kind, kGradient, 1, padding<aclnn##Type##BackwardGetWorkspaceSize>)
#define UNPOOL(Type, name, dims, aten, kind, ...) \
    ENTRY(Type, dims, kind, kUnpool, dims == 2 ? 1 : 3, unpool<aclnn##Type##BackwardGetWorkspaceSize, dims>)
#define BATCH_NORM(Type, name, dims, aten, kind, ...) \
    ENTRY(Type, dims, kind, kBatchNorm, 0, batch_norm<aclnn##Type##BackwardGetWorkspaceSize>)

const std::vector<EntryPoint>& entry_points() {
    static const std::vector<Parameter> kGradient{{"gradOutput", read}, {"self", shape}, {"gradInput", written}};
    static const std::vector<Parameter> kVolume{{"gradOutput", read}, {"self", shape}, {"output", written}};
    static const std::vector<Parameter> kOut{{"gradOutput", read}, {"self", shape}, {"out", written}};
    static const std::vector<Parameter> kUnpool{{"gradOutput", read}, {"self", shape}, {"indices", read}, {"out", written}};
    static const std::vector<Parameter> kBatchNorm{{"gradOut", read},  {"input", read},        {"mean", read},
                                                   {"invstd", read},   {"weight", read, true}, {"sumDy", read},
                                                   {"sumDyXmu", read}, {"counter", read},      {"gradInput", written}};
    static const std::vector<EntryPoint> all{TORCH_ACLNN_AVERAGE_POOLINGS(AVERAGE) TORCH_ACLNN_ADAPTIVE_AVERAGE_POOLINGS(
        ADAPTIVE) TORCH_ACLNN_PADDINGS(PADDING) TORCH_ACLNN_MAX_UNPOOLINGS(UNPOOL) TORCH_ACLNN_BATCH_NORMS(BATCH_NORM)};
    return all;
}

size_t entry_point_of(Kind kind, size_t dims) {
    const auto& all = entry_points();
    size_t found = all.size();
    for (size_t i = all.size(); i-- > 0;)
        if (all[i].kind == kind && (found == all.size() || all[found].dims != dims)) found = i;
    return found;
}

}  // namespace fuzz
