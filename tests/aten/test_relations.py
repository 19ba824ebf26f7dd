"""Arguments that do not fit each other: phase 1 refuses them where it can see it, and what only computing shows keeps its code."""

import math
import re

import pytest
import torch
from checks import DEVICE, zeros
from sound_calls import ENTRY_POINTS, answer, changed

from direct import call, fails
from support.status import INVALID, NULL

FLOAT_TO_LONG = "result type Float can't be cast to the desired output type Long"
GROUPED = "x [INT8:2,3]; weight [INT8:3,4]; y [2,4]"
GROUPED_BY_ROW = (
    "x [INT8:2,3]; weight [INT8:2,3,4]; scale [2,4]; groupList INT64:2; splitItem=3; groupType=0; groupListType=1; actType=0; out [2,4]"
)
UNPERMUTED = (
    "permutedTokens 4,3; sortedIndices outIndex permuteTokenId INT32:4; permuteProbs 4; routingMap BOOL:2,2; probs 2,2; restoreShape=2,3; "
    "unpermutedTokens 2,3"
)
SCALED = "self 1,1,5,5; outputSize=1,9; scalesH=0.5; scalesW=1.0e-12; out 1,1,1,9"
MAX_POOL = "self 1,1,4,4; kernelShape=2,2; strides=2,2; out 1,1,2,2"
CONVOLUTION = "input 1,1,4,4; weight 1,1,2,2; stride=1; padding=0; dilation=1; outputPadding=0; out 1,1,3,3"
ATTENTION, PACKED = "query key value attentionOut 1,2,3,4; headNum=2", "query key value attentionOut 3,2,4; headNum=2"
# An entry point, what differs from its sound call in the words of a record, the parameter that is refused, and what is expected.
ROWS = [
    ("aclnnMul", "other 2,4", "other", "broadcasts"),
    ("aclnnMul", "other out 2", "out", r"shape \[2, 2\]"),
    ("aclnnInplaceMul", "selfRef 2", "selfRef", r"shape \[2, 2\]"),
    ("aclnnAdd", "self out INT64:2,2", "out", FLOAT_TO_LONG),
    ("aclnnInplaceSub", "selfRef INT64:2,2", "selfRef", FLOAT_TO_LONG),
    ("aclnnInplacePowTensorScalar", "selfRef INT64:2,2", "selfRef", FLOAT_TO_LONG),
    ("aclnnInplaceFmodScalar", "selfRef INT64:2,2", "selfRef", FLOAT_TO_LONG),
    ("aclnnInplaceRemainderTensorScalar", "selfRef INT64:2,2", "selfRef", FLOAT_TO_LONG),
    ("aclnnInplaceDivMods", "selfRef INT64:2,2; mode=2", "selfRef", FLOAT_TO_LONG),
    ("aclnnDiv", "self other out INT64:2,2", "self, other, out", FLOAT_TO_LONG),
    ("aclnnDivMod", "self other out INT64:2,2", "self, other, out", FLOAT_TO_LONG),
    ("aclnnClamp", "self out INT64:2,2", "out", "a data type that FLOAT converts to"),
    ("aclnnSub", "self other out BOOL:2,2; alpha=INT64:1", "self, other, out", "data types that the operator has, got Subtraction"),
    ("aclnnBatchNormReduceBackward", "gradOut input 3", "input", "at least 2 dimensions"),
    ("aclnnBatchNormReduceBackward", "gradOut 2,3", "gradOut", r"shape \[2, 2\]"),
    ("aclnnBatchNormReduceBackward", "mean 3", "mean", "2 elements"),
    ("aclnnBatchNormReduceBackward", "invstd 3", "invstd", "2 elements"),
    ("aclnnBatchNormReduceBackward", "gradOut input INT32:2,2", "gradOut", "a data type of FLOAT"),
    ("aclnnForeachSqrt", "x [2,2 2,2]", "out", "2 tensors"),
    ("aclnnRange", "out INT64:3; end=inf", "end", "a real number that fits"),
    ("aclnnDot", "self tensor COMPLEX64:4; out COMPLEX64:1", "self", "a data type of FLOAT"),
    ("aclnnUpsampleBilinear2dAA", "self 1,1,1,1; outputSize=8,8; scalesH=0.5; scalesW=1.0; out 1,1,8,8", "scalesH", "1 elements become 8"),
    ("aclnnConvDepthwise2d", "self 1,3,4,4; weight 4,1,2,2; kernelSize=2,2; out 1,4,3,3", "weight", "a multiple of self's 3 channels"),
    ("aclnnForeachLerpList", "weights [2,2 2,2]", "weights", "1 tensors"),
    ("aclnnSplitWithSize", "splitSize=1,1; dim=1", "out", "2 tensors"),
    ("aclnnSplitWithSize", "self 2,3; splitSize=1,1; dim=1; out [2,1 2,1]", "splitSize", "sizes whose sum is dimension 1's, 3"),
    ("aclnnSplitWithSize", "self 2,3; splitSize=4,-1; dim=1; out [2,1 2,1]", "splitSize", "at least 0"),
    ("aclnnCat", "tensors [2,2 2,2]; dim=2", "dim", r"a dimension in -2\.\.1"),
    ("aclnnStack", "dim=3", "dim", r"a dimension in -3\.\.2"),
    ("aclnnRoll", "shifts=1,1", "shifts", "1 values, as dims has"),
    ("aclnnSwiGlu", "x 2,3", "x", "an even dimension -1"),
    ("aclnnRotaryPositionEmbedding", "x cos sin y 2,3", "x", "an even dimension -1"),
    ("aclnnThnnFusedLstmCell", "inputGates 2,3", "inputGates", r"shape \[2, 8\]"),
    ("aclnnFusedSgd", "grads [2,4]", "grads", r"shape \[2, 2\]"),
    ("aclnnRepeat", "repeats=2", "repeats", "at least the 2 dimensions"),
    ("aclnnDiag", "self 2,2,2", "self", "1 or 2 dimensions"),
    ("aclnnDiag", "self 2; diagonal=1099511627776", "diagonal", r"-2147483647\.\.2147483647"),
    ("aclnnFlatten", "self 2,3,4; axis=1; out 6,4", "out", r"shape \[2, 12\]"),
    ("aclnnUnfoldGrad", "gradOut 3,2; inputSizes=3; dim=0; size=4; gradIn 3", "size", "at most dimension 0's, 3"),
    ("aclnnUnfoldGrad", "gradOut 1,2; inputSizes=3; dim=1; size=2; gradIn 3", "dim", r"a dimension in -1\.\.0"),
    ("aclnnUnfoldGrad", "gradOut 1,2; inputSizes=3; dim=0; size=2; gradIn 3", "gradOut", r"shape \[2, 2\]"),
    ("aclnnStridedSliceAssignV2", "strides=2; axesOptional=1", "strides", "1 for the last dimension"),
    ("aclnnStridedSliceAssignV2", "varRef inputValue 4; begin=0,0; end=4,4; strides=1,1", "begin", "at most the 1 dimensions of varRef"),
    ("aclnnStridedSliceAssignV2", "strides=1,1", "strides", "1 values, as begin has"),
    ("aclnnGatherNd", "indices INT64:1,3", "indices", "of which the last one has 1 to 2 numbers"),
    ("aclnnEinsum", "tensors [2 2 2]", "tensors", "2 tensors"),
    ("aclnnEinsum", "tensors [1,1,2,3 1,1,2,4,2]; equation=abcd,abced->abce; output 1,1,2,4", "tensors", "the dimensions abcd and abced"),
    ("aclnnSum", "tensors [2,2 INT32:2,2]", "tensors", "FLOAT, as the first has"),
    ("aclnnInstanceNorm", "x 2,2", "x", "4 dimensions"),
    ("aclnnDropoutBackward", "mask FLOAT:16", "mask", "UINT8"),
    ("aclnnUniqueConsecutive", "dim=2", "dim", r"a dimension in -2\.\.1"),
    ("aclnnLayerNorm", "normalizedShape=3", "normalizedShape", "the last dimensions of input"),
    ("aclnnLayerNorm", "normalizedShape=", "normalizedShape", "at least one of the dimensions of input"),
    ("aclnnDeepNorm", "beta gamma ()", "gamma", "at least one of the dimensions of x"),
    ("aclnnForeachNorm", "x [2,2 0]; scalar=inf; out [() ()]", "x", "elements, for the norm of order inf"),
    ("aclnnForeachNorm", "x [0]; scalar=-1; out [()]", "x", "elements, for the norm of order -1"),
    ("aclnnTransQuantParamV2", "offset BOOL:2,2", "offset", "a data type of FLOAT"),
    ("aclnnTransQuantParamV2", "scale 1,1,3; out INT64:3", "scale", "1 or 2 dimensions"),
    ("aclnnDynamicQuant", "smoothScales 1,2,4", "smoothScales", r"shape \[2\]"),
    ("aclnnGroupedMatmul", f"{GROUPED}; bias [3]", "bias", "1 value or 4 for each weight"),
    ("aclnnGroupedMatmul", f"{GROUPED}; bias [5,4]", "bias", "1 value or 4 for each weight"),
    ("aclnnGroupedMatmul", f"{GROUPED}; scale [3]", "scale", "1 value or 4 for each weight"),
    ("aclnnGroupedMatmul", f"{GROUPED}; scale [4 4]", "scale", "as many tensors as weight, 1"),
    ("aclnnGroupedMatmul", f"{GROUPED}; antiquantScale [4,4]", "antiquantScale", "1 value or 4 for each weight"),
    ("aclnnGroupedMatmul", f"{GROUPED}; antiquantScale [4]; antiquantOffset [3]", "antiquantOffset", "1 value or 4 for each weight"),
    (
        *("aclnnGroupedMatmul", f"{GROUPED}; bias [1,4]; weight [INT8:2,3,4]; groupList=1,2; splitItem=2"),
        *("bias", "a row for each of 2 weights"),
    ),
    ("aclnnGroupedMatmul", f"{GROUPED}; x [INT8:1,2,3]; splitItem=2", "x", "2 dimensions"),
    ("aclnnGroupedMatmulV4", f"{GROUPED_BY_ROW}; perTokenScale [3]", "perTokenScale", r"shape \[2\]"),
    ("aclnnGroupedMatmulV4", f"{GROUPED_BY_ROW}; perTokenScale [2 2]", "perTokenScale", "as many tensors as x, 1"),
    *(
        ("aclnnMoeTokenUnpermuteWithRoutingMap", f"{UNPERMUTED}; {changes}", parameter, expected)
        for changes, parameter, expected in (
            ("probs 2,3", "probs", r"shape \[2, 2\]"),
            ("routingMap BOOL:3,2; probs 3,2", "routingMap", r"shape \[2, any\]"),
            ("sortedIndices outIndex permuteTokenId INT32:5; permuteProbs 5", "sortedIndices", "a multiple of 2 values"),
            ("permutedTokens 5,3; paddedMode=true", "sortedIndices", "5 elements"),
            ("restoreShape=3,3; paddedMode=true", "restoreShape", r"the shape of the tokens, \[2, 3\]"),
            ("permutedTokens 5,3; sortedIndices INT32:5; paddedMode=true", "sortedIndices", "a multiple of 2 values"),
        )
    ),
    ("aclnnConstantPadNd", "padding=1", "padding", "two values for each"),
    ("aclnnBatchMatMul", "self 3,4; mat2 2,4,5; out 2,3,5", "self", "3 dimensions"),
    ("aclnnBatchMatMul", "self 2,3,4; mat2 3,4,5; out 2,3,5", "mat2", "a shape that broadcasts"),
    ("aclnnBatchMatMul", "self 2,3,4; mat2 1,5,5; out 2,3,5", "mat2", "the K of self"),
    ("aclnnBatchMatMul", "self 1,3,4; mat2 2,4,5; out 1,3,5", "out", r"shape \[2, 3, 5\]"),
    ("aclnnConvolution", f"{CONVOLUTION}; weight 1,1,0,2", "weight", "a window of at least 1 in dimension 2"),
    ("aclnnConvolution", f"{CONVOLUTION}; stride=1,1,1", "stride", "1 value or 2"),
    ("aclnnConvolution", f"{CONVOLUTION}; stride=0", "stride", "values of at least 1"),
    ("aclnnConvolution", f"{CONVOLUTION}; padding=-1", "padding", "values of at least 0"),
    ("aclnnConvolution", f"{CONVOLUTION}; dilation=0", "dilation", "values of at least 1"),
    ("aclnnConvolution", f"{CONVOLUTION}; input 1,0,4,4; weight 0,0,2,2; out 1,0,3,3", "weight", "one filter"),
    ("aclnnIm2col", "self 2,0,4,4; out 2,0,16", "self", "with channels"),
    ("aclnnIm2colBackward", "gradOutput 0,16; inputSize=4,4; out 0,4,4", "gradOutput", "with elements of windows"),
    ("aclnnMaxPool2dWithIndices", "dilation=4294967296", "dilation", "values up to 2147483647"),
    ("aclnnInplaceFillScalar", "selfRef FLOAT16:2; value=1e30", "value", "a real number that fits"),
    ("aclnnInplaceFillScalar", "selfRef INT32:2; value=nan", "value", "a real number that fits"),
    ("aclnnInplaceFillDiagonal", "selfRef 2,2,3", "selfRef", "of the same size"),
    ("aclnnMultilabelMarginLoss", "self isTarget 2,0; target INT64:2,0", "self", "at least 1 in dimension -1"),
    ("aclnnMhcSinkhorn", "x y 2,9,9", "x", "matrices of at most 8 x 8"),
    ("aclnnFlatQuant", "x FLOAT16:2,0,2; kroneckerP1 FLOAT16:0,0; out INT8:2,0,2", "x", "at least 1 in dimension 1"),
    ("aclnnAscendAntiQuant", "offset 3", "offset", "broadcasts"),
    ("aclnnRmsNormQuant", "gamma scale FLOAT16:2; offset FLOAT16:3", "offset", "broadcasts"),
    ("aclnnRmsNormQuant", "gamma scale FLOAT16:2; beta FLOAT16:2,2", "beta", "broadcasts"),
    ("aclnnAddRmsNormDynamicQuant", "gamma FLOAT16:2; smoothScale1 FLOAT16:4,4", "smoothScale1", "broadcasts"),
    ("aclnnDynamicQuantV2", "smoothScales FLOAT16:2,2; groupIndex INT32:2,1", "groupIndex", r"shape \[2\]"),
    ("aclnnSwiGluQuant", "smoothScales 3", "smoothScales", "broadcasts"),
    ("aclnnSwiGluQuant", "smoothScales 2,3; groupIndex INT32:2", "smoothScales", "a row of 1 values"),
    ("aclnnSwiGluQuant", "groupIndex INT32:2,2", "groupIndex", "1 dimension"),
    ("aclnnQuantMatmulV3", "bias 3", "bias", "broadcasts"),
    ("aclnnWeightQuantBatchMatmulV2", "bias 3", "bias", "broadcasts"),
    ("aclnnWeightQuantBatchMatmulV2", "antiquantScale 2; antiquantOffset 3", "antiquantOffset", r"shape \[2\]"),
    ("aclnnChannelShuffle", "self out 1,3,2; groups=2", "groups", "a divisor of 3"),
    ("aclnnAvgPool3d", "self out 1,4,4,4; kernelSize=2; padding=2", "padding", "at most half of the window, 1"),
    ("aclnnMaxPool3dWithArgmax", "self 1,4,4,4; kernelSize=3; padding=3; dilation=2", "padding", "at most half of the window, 2"),
    ("aclnnGlu", "self 2,3; dim=1", "self", "an even dimension 1"),
    ("aclnnTopk", "k=3; dim=1", "k", r"a value in 0\.\.2"),
    ("aclnnKthvalue", "k=3; dim=0", "k", r"a value in 1\.\.2"),
    ("aclnnMultinomial", "numsamples=4", "numsamples", r"a value in 1\.\.2"),
    ("aclnnCtcLoss", "blank=2", "blank", "one of the 2 labels"),
    ("aclnnCtcLoss", "inputLengths=-5", "inputLengths", "at least 0"),
    ("aclnnGroupNorm", "HxW=2", "self", "N, C and HxW elements"),
    ("aclnnGroupNorm", "self out 2,3; C=3; group=2", "group", "a divisor of 3"),
    ("aclnnGroupNormSilu", "self out 2,3; group=2", "group", "a divisor of 3"),
    ("aclnnLinalgCross", "dim=0", "dim", "a dimension of 3 elements"),
    ("aclStft", "self 4; nFft=5", "nFft", r"a value in 1\.\.4"),
    ("aclStft", "self 4; nFft=3; winLength=4", "winLength", r"a value in 1\.\.3"),
    ("aclnnArange", "step=0.0", "step", "a number that leads from start, 0, to end, 2"),
    ("aclnnArange", "step=-1.0", "step", "a number that leads from start, 0, to end, 2"),
    ("aclnnArange", "step=0.25; out INT32:8", "step", r"a number other than 0 for an output of integers, got 0\.25"),
    ("aclnnCumprod", "dim=INT64:2", "dim", r"a dimension in -2\.\.1"),
    ("aclnnReflectionPad1d", "self 2,3; padding=3,0; out 2,6", "padding", "values below self's size of 3"),
    ("aclnnReplicationPad1d", "self 2,3; padding=-3,0; out 2,0", "padding", "at least one element left"),
    ("aclnnReplicationPad3d", "self 2,3", "padding", "two values for each"),
    ("aclnnEluBackward", "alpha=-1.0; isResult=true", "alpha", "a number from 0 on"),
    ("aclnnLeakyReluBackward", "negativeSlope=-1.0; selfIsResult=true", "negativeSlope", "a number from 0 on"),
    ("aclnnDropoutGenMaskV2", "shape=3,3; out UINT8:1", "out", "at least 2 elements"),
    ("aclnnDropoutDoMask", "self out 9; mask UINT8:1", "mask", "at least 2 elements"),
    ("aclnnMaxPool2dWithMask", "self 1,4,4; kernelSize=256; out 1,3,3; indices INT8:1,4,32", "kernelSize", "32767"),
    ("aclnnMaxPool2dWithMask", "self 1,4,4; kernelSize=2; out 1,3,3; indices INT8:1,0,32", "indices", "a mask of bytes"),
    *(
        ("aclnnFlashAttentionScore", f"{ATTENTION}; realShift {sizes}", "realShift", "4 dimensions: 1 or 1, 2, 1 or 3, and 3")
        for sizes in ("2,3", "2,2,3,3", "1,2,2,3", "1,1,3,3")
    ),
    ("aclnnFlashAttentionScore", f"{ATTENTION}; query key value attentionOut FLOAT16:1,2,3,4; realShift 1,2,3,3", "realShift", "FLOAT16"),
    ("aclnnFlashAttentionScoreV2", f"{ATTENTION}; pseType=2; realShift 3", "realShift", r"\[2\] or \[1, 2\]"),
    (
        "aclnnFlashAttentionVarLenScore",
        f"{PACKED}; actualSeqQLen=3; actualSeqKvLen=3; realShift 1,2,3,3",
        "realShift",
        "null for pseType 0 and 1",
    ),
    ("aclnnFlashAttentionScore", f"{ATTENTION}; paddingMask 2,3", "paddingMask", "null"),
    # An NPU refuses them, too; torch's own attention broadcasts them.
    *(
        ("aclnnFlashAttentionScore", f"{ATTENTION}; attenMask BOOL:{sizes}", "attenMask", r"shape \[3, 3\]")
        for sizes in ("1,1,1,3", "1,2,1,3", "1,3", "1,1,1")
    ),
    ("aclnnFlashAttentionScore", f"{ATTENTION}; headNum=3", "query", "headNum, 3"),
    ("aclnnFlashAttentionScore", f"{ATTENTION}; key 1,0,3,4", "key", "heads that divide"),
    ("aclnnFlashAttentionScore", f"{ATTENTION}; value 1,1,3,4", "value", "the key's 2 heads"),
    ("aclnnFlashAttentionScore", f"{ATTENTION}; inputLayout=BSH", "query", "the dimensions BSH"),
    ("aclnnFlashAttentionVarLenScore", f"{PACKED}; actualSeqQLen=1,3; actualSeqKvLen=3", "actualSeqKvLen", "2 values"),
    *(
        ("aclnnFlashAttentionVarLenScore", f"{PACKED}; actualSeqQLen={q}; actualSeqKvLen={k}", name, "rising numbers that end with 3")
        for q, k, name in (("2", "3", "actualSeqQLen"), ("3", "4", "actualSeqKvLen"), ("4,3", "2,3", "actualSeqQLen"))
    ),
    ("aclnnGRU", "params [4,2 4,2]", "params", "3 gates of so many units in dimension 0"),
    ("aclnnGRU", "params [6,2 6,2 6,2]", "params", "2 weights and biases in each of 1 layers"),
    ("aclnnGRU", "params [6,2 6,2 6,2 6,2]; dropout=0.5; numLayers=2; train=true", "dropout", "0"),
    ("aclnnGRU", "dropout=0.0; train=true; rOut zOut nOut hnOut hOut [2,2 2,2]", "rOut", "1 values"),
    ("aclnnSliceV2", "ends=1,1", "ends", "1 values, as axes has, got 2"),
    ("aclnnExpand", "size=4,2", "size", r"a shape to which self expands, of shape \[2, 2\], got \[4, 2\]"),
    ("aclnnSplitTensor", "splitSections=1", "out", "2 tensors, got 1"),
    ("aclnnPermute", "dims=0", "dims", "each of the 2 dimensions of self"),
    ("aclnnIndexFillTensor", "index=4", "index", r"positions in -2\.\.1, got 4"),
    ("aclnnMaxPool", f"{MAX_POOL}; pads=0,0,0", "pads", "0, 1, 2 or 4 values, got 3"),
    ("aclnnMaxPool", f"{MAX_POOL}; pads=0,1,0,1", "pads", "four values that are the same"),
    ("aclnnMaxPool", f"{MAX_POOL}; pads=2", "pads", "at most half of the window, 1, got 2"),
    ("aclnnMaxPool", f"{MAX_POOL}; pads=-1", "pads", "values of at least 0"),
    ("aclnnMaxPool", f"{MAX_POOL}; dilations=2", "dilations", "1, as no other is supported"),
    ("aclnnGlobalMaxPool", "self 2,3,4; out 2,3,1", "self", "4 to 8 dimensions"),
    ("aclnnGroupedMatmulV3", "offset [2,2]", "offset", "null or an empty list"),
    ("aclnnFFN", "activation=swiglu", "activation", "fastgelu, gelu, relu or silu"),
    ("aclnnQuantMatmulV3", "x2 INT32:2,1; out 2,8", "x2", "numbers of 8 bits, as x1 has"),
    ("aclnnQuantMatmulV5", "groupSize=4294967296", "groupSize", r"a value in 0\.\.0"),
    ("aclnnInplaceQuantScatter", "updates 1,3,2", "updates", "at most the sizes of selfRef"),
    ("aclnnHistc", "min=3.0; max=1.0", "max", "at least min, 3, got 1"),
    *((f"aclnnUpsample{name}", SCALED, "scalesW", "a factor of at least") for name in ("Nearest2dV2", "Bilinear2d", "Bicubic2d")),
    ("aclnnDeformableConv2d", "offset 1,8,2,2", "offset", ""),
    *(
        ("aclnnCircularPad2d", f"self 2,4,3; padding={padding},1,1; out 2,6,{width}", "padding", "elements that the other padding leaves")
        for padding, width in (("1,-3", 1), ("-3,1", 1), ("2,-2", 3))
    ),
    ("aclnnRange", "step=9.223372036854775807e18; out UINT8:2", "step", r"a real number that fits into INT64, got 9\.22337e\+18"),
    ("aclnnInplaceCumprod", f"dim=UINT64:{2**64 - 1}", "dim", f"fits into the type that it is taken as, got {2**64 - 1}"),
    ("aclnnMoeFinalizeRoutingV4", "zeroExpertRange=4,6", "zeroExpertRange", "null: the engine has none, got"),
    ("aclnnMoeFinalizeRoutingV4", "k=3", "k", "2, as expandedRowIdx and out say, got 3"),
    ("aclnnScatterPaCache", "slotMapping INT32:1", "slotMapping", "2 elements"),
]


def outcome(client, handles, name, changes):
    """The code of phase 1 and its message."""
    entry_point = next(e for e in ENTRY_POINTS if e.name == name)
    return answer(client, handles, entry_point, changed(entry_point, changes))


@pytest.mark.parametrize("name", dict.fromkeys(row[0] for row in ROWS))
def test_phase_1_refuses(client, handles, name):
    for changes, parameter, expected in (row[1:] for row in ROWS if row[0] == name):
        code, message = outcome(client, handles, name, changes)
        start, _, rest = message.partition(": expected ")
        assert code == INVALID and start == f"{name}: {parameter}", (changes, message)
        assert re.search(expected, rest), (changes, message)


def test_training_needs_its_lists(client, handles):
    code, message = outcome(client, handles, "aclnnGRU", "dropout=0.0; train=true")
    assert code == NULL and message.startswith("aclnnGRU: rOut: expected a list, as train is set, got null")


def test_an_output_may_lie_between_an_inputs_elements():
    rows = torch.empty(2, (64 << 20) + 1, dtype=torch.int8, device=DEVICE)
    rows[:, :2] = torch.tensor([5, -3], dtype=torch.int8)
    call("aclnnAbs", rows[:, 1:2], rows[:, :1])
    assert rows[:, :2].tolist() == [[3, -3], [3, -3]]


def test_a_result_that_depends_on_the_data_keeps_its_code():
    x = torch.ones(5)
    fails("aclnnMaskedSelect: out: expected room for 5 elements, got 2", "aclnnMaskedSelect", x, x > 0, zeros(2), code=INVALID)


@pytest.mark.parametrize("number", [math.nan, math.inf])
def test_numbers_without_singular_values(number):
    words = f"aclnnSvd: input: expected values that are finite, got {number} at position [1, 0]"
    fails(words, "aclnnSvd", torch.tensor([[1.0, 0.0], [number, 1.0]]), False, True, zeros(2), zeros(2, 2), zeros(2, 2))


def test_an_error_of_aten_is_one_of_the_device():
    words = "aclnnIndexSelect: index: expected positions that there are, got index out of range in self"
    fails(words, "aclnnIndexSelect", zeros(2, 2), 0, torch.tensor([5]), zeros(1, 2))
