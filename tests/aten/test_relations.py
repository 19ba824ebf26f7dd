"""What must hold between arguments: phase 1 refuses it where it can be seen from them, and what only computing shows keeps its code."""

import ctypes
import math
import re

import pytest
import torch

from cases import DEVICE
from direct import call, failure, fraction, refusal, scalar
from support.marks import CUBE_MATH_TYPE


def npu(*shape, dtype=torch.float32):
    return torch.zeros(shape, dtype=dtype).to(DEVICE)


def convolution(stride=(1,), padding=(0,), dilation=(1,), window=(2, 2)):
    steps = (list(stride), list(padding), list(dilation))
    return (npu(1, 1, 4, 4), npu(1, 1, *window), None, *steps, False, [0], 1, npu(1, 1, 3, 3), ctypes.c_int8(CUBE_MATH_TYPE))


def depthwise(channels, filters):
    steps = ([1, 1], [0, 0], [1, 1])
    return (npu(1, channels, 4, 4), npu(filters, 1, 2, 2), [2, 2], None, *steps, npu(1, filters, 3, 3), ctypes.c_int8(CUBE_MATH_TYPE))


def products(left, right, out):
    return (npu(*left), npu(*right), npu(*out), ctypes.c_int8(CUBE_MATH_TYPE))


def attention(query=(1, 2, 3, 4), key=(1, 2, 3, 4), value=(1, 2, 3, 4), shift=None, padding=None, mask=None, heads=2, layout=b"BNSD"):
    tensors = [npu(*query), npu(*key), npu(*value)]
    return (*tensors, shift, None, padding, mask, None, 1.0, 1.0, 100, 100, heads, layout, 0, 0, None, None, None, npu(*query))


def packed(query_ends=(3,), key_ends=(3,), layout=b"TND"):
    tensors, ends = [npu(3, 2, 4)] * 3, (list(query_ends), list(key_ends))
    return (*tensors, None, None, None, None, None, *ends, 1.0, 1.0, 100, 100, 2, layout, 0, 0, None, None, None, npu(3, 2, 4))


def gru(params=2, rows=6, train=False, dropout=0.0, layers=1, states=None):
    weights = (npu(rows, 2),) * params
    flags = (False, layers, dropout, train, False, False)
    return (npu(1, 1, 2), weights, npu(1, 1, 2), None, *flags, npu(1, 1, 2), npu(1, 1, 2), *[states] * 5)


def quantised(entry_point, **given):
    """The arguments of a call with tensors of {2, 4}, in which optional ones are given."""
    half, bytes_, row = npu(2, 4, dtype=torch.float16), npu(2, 4, dtype=torch.int8), npu(4, dtype=torch.float16)
    gate = npu(2, 2, dtype=torch.int8)
    get = given.get
    return {
        "aclnnAscendAntiQuant": (bytes_, npu(4), get("offset"), ctypes.c_int(0), False, npu(2, 4)),
        "aclnnRmsNormQuant": (half, row, get("beta"), row, get("offset"), 1e-5, bytes_),
        "aclnnAddRmsNormDynamicQuant": (half, half, row, get("smooth"), None, 1e-5, bytes_, bytes_, npu(2, 4), npu(2), npu(2)),
        "aclnnDynamicQuantV2": (half, get("smooth"), get("groups"), ctypes.c_int(2), bytes_, npu(2), None),
        "aclnnSwiGluQuant": (half, get("smooth"), None, get("groups"), False, b"dynamic", gate, npu(2)),
        "aclnnQuantMatmulV3": (bytes_, npu(4, 4, dtype=torch.int8), row, None, get("bias"), False, False, npu(2, 4)),
        "aclnnWeightQuantBatchMatmulV2": (
            *(half, npu(4, 4, dtype=torch.int8), row, get("offset"), None, None, get("bias"), ctypes.c_int(0), npu(2, 4)),
        ),
    }[entry_point]


def grouped(**given):
    """One x of {2, 3} and one weight of {3, 4}, or another."""
    weight = given.get("weight", (npu(3, 4, dtype=torch.int8),))
    optional = [given.get(name) for name in ("bias", "scale", "offset", "antiquantScale", "antiquantOffset")]
    return (given.get("x", (npu(2, 3, dtype=torch.int8),)), weight, *optional, given.get("ends"), given.get("split", 0), (npu(2, 4),))


def grouped_by_row(**given):
    """The same in two groups, each of one row, with scales for the rows."""
    x, sizes = (npu(2, 3, dtype=torch.int8),), npu(2, dtype=torch.int64)
    scales = (None, (npu(2, 4),), None, None, None, given.get("perTokenScale"))
    numbers = (given.get("splitItem", 3), given.get("groupType", 0), 1, 0)
    return (x, (npu(2, 3, 4, dtype=torch.int8),), *scales, sizes, None, None, None, *numbers, (npu(2, 4),), None, None)


def unpermuted(rows=4, indices=4, routing=(2, 2), probs=(2, 2), padded=False):
    """The arguments of a call that brings two tokens back from two experts."""
    sorted_indices, chosen = npu(indices, dtype=torch.int32), npu(*routing, dtype=torch.bool)
    numbers = (npu(indices, dtype=torch.int32), npu(indices, dtype=torch.int32), npu(indices))
    return (npu(rows, 3), sorted_indices, chosen, npu(*probs), padded, [2, 3], npu(2, 3), *numbers)


def gathered(keys, values):
    """The arguments of a call that reads rows of these types from caches of halves."""
    caches, tables, lengths = [npu(2, 1, 2, dtype=torch.float16)] * 2, npu(1, 1, dtype=torch.int32), npu(1, dtype=torch.int32)
    return (*caches, tables, lengths, npu(1, 2, dtype=keys), npu(1, 2, dtype=values), None, None, False)


def batch_norm_sums(x=(2, 3, 4), grad=(2, 3, 4), mean=3, invstd=3, dtype=torch.float32):
    tensors = (npu(*grad, dtype=dtype), npu(*x, dtype=dtype), npu(mean), npu(invstd))
    return (*tensors, None, True, True, True, *[npu(3)] * 4)


X, LONGER, INTEGERS = npu(2, 3), npu(2, 4), npu(2, 3, dtype=torch.int64)
BOOLS = npu(2, 3, dtype=torch.bool)
ROWS = [
    ("aclnnMul", (X, LONGER, X), "other", "broadcasts"),
    ("aclnnMul", (X, X[0], npu(3)), "out", r"shape \[2, 3\]"),
    ("aclnnInplaceMul", (X[0], X), "selfRef", r"shape \[2, 3\]"),
    ("aclnnAdd", (INTEGERS, X, scalar(1), INTEGERS), "out", "result type Float can't be cast to the desired output type Long"),
    ("aclnnInplaceSub", (INTEGERS, X, scalar(1)), "selfRef", "can't be cast to the desired output type Long"),
    # As the average of integers over ranks has it: each rank hears of it at the call.
    ("aclnnInplaceDivs", (INTEGERS, scalar(2)), "selfRef", "result type Float can't be cast to the desired output type Long"),
    *[
        (f"aclnnInplace{name}", (INTEGERS, fraction(0.5)), "selfRef", "result type Float can't be cast to the desired output type Long")
        for name in ("Muls", "PowTensorScalar", "FmodScalar", "RemainderTensorScalar")
    ],
    ("aclnnClamp", (INTEGERS, None, fraction(0.5), INTEGERS), "out", "a data type that FLOAT converts to"),
    ("aclnnDiv", (INTEGERS, INTEGERS, INTEGERS), "out", "result type Float can't be cast to the desired output type Long"),
    ("aclnnInplaceDivMods", (INTEGERS, fraction(15.9), ctypes.c_int32(2)), "selfRef", "result type Float can't be cast"),
    ("aclnnDivMod", (INTEGERS, INTEGERS, ctypes.c_int32(0), INTEGERS), "out", "result type Float can't be cast"),
    ("aclnnSub", (BOOLS, BOOLS, scalar(1), BOOLS), "self, other, out", "data types that the operator has, got Subtraction"),
    ("aclnnInplaceDivs", (npu(1 << 15, dtype=torch.int64), scalar(2)), "selfRef", "Float can't be cast"),
    ("aclnnBatchNormReduceBackward", batch_norm_sums(x=(3,), grad=(3,)), "input", "at least 2 dimensions"),
    ("aclnnBatchNormReduceBackward", batch_norm_sums(grad=(2, 3, 3)), "gradOut", r"shape \[2, 3, 4\]"),
    ("aclnnBatchNormReduceBackward", batch_norm_sums(mean=2), "mean", "3 elements"),
    ("aclnnBatchNormReduceBackward", batch_norm_sums(invstd=4), "invstd", "3 elements"),
    ("aclnnBatchNormReduceBackward", batch_norm_sums(dtype=torch.int32), "gradOut", "a data type of FLOAT"),
    ("aclnnForeachSqrt", ((X, X), (X,)), "out", "2 tensors"),
    ("aclnnAbs", (X, npu(3).expand(2, 3)), "out", "elements that do not share memory"),
    ("aclnnNonzero", (X, npu(6, 4, dtype=torch.int64)[:, ::2]), "out", "a tensor without gaps"),
    ("aclnnRange", (fraction(0.0), fraction(math.inf), fraction(1.0), INTEGERS), "end", "a real number that fits"),
    ("aclnnDot", (npu(3, dtype=torch.complex64),) * 2 + (npu(1, dtype=torch.complex64),), "self", "a data type of FLOAT"),
    ("aclnnUpsampleBilinear2dAA", (npu(1, 1, 1, 1), [8, 8], False, 0.5, 1.0, npu(1, 1, 8, 8)), "scalesH", "1 elements become 8"),
    ("aclnnConvDepthwise2d", depthwise(channels=3, filters=4), "weight", "a multiple of self's 3 channels"),
    ("aclnnForeachLerpList", ((X,), (X,), (X, X), (X,)), "weights", "1 tensors"),
    ("aclnnSplitWithSize", (X, [1, 2], 1, (X,)), "out", "2 tensors"),
    ("aclnnCat", ((X, X), 2, X), "dim", r"a dimension in -2\.\.1"),
    ("aclnnStack", ((X, X), 3, X), "dim", r"a dimension in -3\.\.2"),
    ("aclnnRoll", (X, [1, 1], [0], X), "shifts", "1 values, as dims has"),
    ("aclnnSwiGlu", (X, -1, X), "x", "an even dimension -1"),
    ("aclnnRotaryPositionEmbedding", (X, X, X, 0, X), "x", "an even dimension -1"),
    ("aclnnThnnFusedLstmCell", (X, X, X, None, None, X, X, X), "inputGates", r"shape \[2, 12\]"),
    ("aclnnFusedSgd", ((X,), (LONGER,), (X,), None, *[ctypes.c_float(0)] * 4, False, False, False), "grads", r"shape \[2, 3\]"),
    ("aclnnRepeat", (X, [2], X), "repeats", "at least the 2 dimensions"),
    ("aclnnDiag", (npu(2, 2, 2), 0, X), "self", "1 or 2 dimensions"),
    ("aclnnDiag", (npu(2), 1 << 40, X), "diagonal", r"-2147483647\.\.2147483647"),
    ("aclnnFlatten", (npu(2, 3, 4), 1, npu(6, 4)), "out", r"shape \[2, 12\]"),
    ("aclnnUnfoldGrad", (npu(3, 2), [3], 0, 4, 1, npu(3)), "size", "at most dimension 0's, 3"),
    ("aclnnUnfoldGrad", (npu(1, 2), [3], 1, 2, 1, npu(3)), "dim", r"a dimension in -1\.\.0"),
    ("aclnnUnfoldGrad", (npu(1, 2), [3], 0, 2, 1, npu(3)), "gradOut", r"shape \[2, 2\]"),
    ("aclnnStridedSliceAssignV2", (X, npu(2, 2), [0], [3], [2], [1]), "strides", "1 for the last dimension"),
    ("aclnnStridedSliceAssignV2", (npu(4), npu(4), [0, 0], [4, 4], [1, 1], None), "begin", "at most the 1 dimensions of varRef"),
    ("aclnnStridedSliceAssignV2", (X, X, [0], [2], [1, 1], None), "strides", "1 values, as begin has"),
    ("aclnnGatherNd", (X, npu(1, 3, dtype=torch.int64), False, npu(1)), "indices", "of which the last one has 1 to 2 numbers"),
    ("aclnnEinsum", ((npu(2), npu(2), npu(2)), b"a,b->ab", npu(2, 2)), "tensors", "2 tensors"),
    (
        "aclnnEinsum",
        ((npu(1, 1, 2, 3), npu(1, 1, 2, 4, 2)), b"abcd,abced->abce", npu(1, 1, 2, 4)),
        "tensors",
        "the dimensions abcd and abced",
    ),
    ("aclnnSum", ((X, npu(2, 3, dtype=torch.int32)), X), "tensors", "FLOAT, as the first has"),
    ("aclnnInstanceNorm", (X, npu(2), npu(2), b"NCHW", 0.0, X, X, X), "x", "4 dimensions"),
    ("aclnnDropoutBackward", (npu(4), npu(16), 2.0, npu(4)), "mask", "UINT8"),
    ("aclnnUniqueConsecutive", (X, False, False, 2, X, X, X), "dim", r"a dimension in -2\.\.1"),
    ("aclnnLayerNorm", (X, [2], None, None, 1e-5, X, None, None), "normalizedShape", "the last dimensions of input"),
    ("aclnnLayerNorm", (X, [], None, None, 1e-5, X, None, None), "normalizedShape", "at least one of the dimensions of input"),
    ("aclnnDeepNorm", (X, X, npu(), npu(), 1.0, 1e-5, X, X, X), "gamma", "at least one of the dimensions of x"),
    ("aclnnForeachNorm", ((X, npu(0)), fraction(math.inf), (npu(), npu())), "x", "elements, for the norm of order inf"),
    ("aclnnForeachNorm", ((npu(0),), fraction(-1.0), (npu(),)), "x", "elements, for the norm of order -1"),
    ("aclnnTransQuantParamV2", (npu(3), npu(3, dtype=torch.bool), npu(3, dtype=torch.int64)), "offset", "a data type of FLOAT"),
    ("aclnnTransQuantParamV2", (npu(1, 1, 3), None, npu(3, dtype=torch.int64)), "scale", "1 or 2 dimensions"),
    ("aclnnDynamicQuant", (*quantised("aclnnDynamicQuantV2", smooth=npu(1, 2, 4))[:2], X, npu(2)), "smoothScales", "1 dimension"),
    ("aclnnDynamicQuant", (*quantised("aclnnDynamicQuantV2", smooth=npu())[:2], X, npu(2)), "smoothScales", "1 dimension"),
    ("aclnnGatherPaKvCache", gathered(torch.float32, torch.float16), "keyRef", "the data type of its cache, FLOAT16"),
    ("aclnnGatherPaKvCache", gathered(torch.float16, torch.int8), "valueRef", "the data type of its cache, FLOAT16"),
    *(
        ("aclnnGroupedMatmul", grouped(**given), parameter, expected)
        for given, parameter, expected in (
            ({"bias": (npu(3),)}, "bias", "1 value or 4 for each weight"),
            ({"bias": (npu(5, 4),)}, "bias", "1 value or 4 for each weight"),
            ({"scale": (npu(3),)}, "scale", "1 value or 4 for each weight"),
            ({"scale": (npu(4), npu(4))}, "scale", "as many tensors as weight, 1"),
            ({"antiquantScale": (npu(4, 4),)}, "antiquantScale", "1 value or 4 for each weight"),
            ({"antiquantScale": (npu(4),), "antiquantOffset": (npu(3),)}, "antiquantOffset", "1 value or 4 for each weight"),
            ({"bias": (npu(1, 4),), "weight": (npu(2, 3, 4),), "ends": [1, 2], "split": 2}, "bias", "a row for each of 2 weights"),
            ({"x": (npu(1, 2, 3),), "split": 2}, "x", "2 dimensions"),
        )
    ),
    *(
        ("aclnnGroupedMatmulV4", grouped_by_row(**given), parameter, expected)
        for given, parameter, expected in (
            ({"perTokenScale": (npu(3),)}, "perTokenScale", r"shape \[2\]"),
            ({"perTokenScale": (npu(),)}, "perTokenScale", r"shape \[2\]"),
            ({"perTokenScale": (npu(2), npu(2))}, "perTokenScale", "as many tensors as x, 1"),
        )
    ),
    *(
        ("aclnnMoeTokenUnpermuteWithRoutingMap", unpermuted(**given), parameter, expected)
        for given, parameter, expected in (
            ({"probs": (2, 3)}, "probs", r"shape \[2, 2\]"),
            ({"routing": (3, 2), "probs": (3, 2)}, "routingMap", r"shape \[2, 2\]"),
            ({"indices": 5}, "sortedIndices", "a multiple of 2 values"),
            ({"rows": 5, "padded": True}, "sortedIndices", "5 elements"),
            ({"rows": 5, "indices": 5, "padded": True}, "sortedIndices", "a multiple of 2 values"),
        )
    ),
    ("aclnnConstantPadNd", (X, [1], scalar(0), X), "padding", "two values for each"),
    ("aclnnBatchMatMul", products((3, 4), (2, 4, 5), (2, 3, 5)), "self", "3 dimensions"),
    ("aclnnBatchMatMul", products((2, 3, 4), (3, 4, 5), (2, 3, 5)), "mat2", "a shape that broadcasts"),
    ("aclnnBatchMatMul", products((2, 3, 4), (1, 5, 5), (2, 3, 5)), "mat2", "the K of self"),
    ("aclnnBatchMatMul", products((1, 3, 4), (2, 4, 5), (1, 3, 5)), "out", r"shape \[2, 3, 5\]"),
    ("aclnnConvolution", convolution(window=(0, 2)), "weight", "a window of at least 1 in dimension 2"),
    ("aclnnConvolution", convolution(stride=[1, 1, 1]), "stride", "1 value or 2"),
    ("aclnnConvolution", convolution(stride=[0]), "stride", "values of at least 1"),
    ("aclnnConvolution", convolution(padding=[-1]), "padding", "values of at least 0"),
    ("aclnnConvolution", convolution(dilation=[0]), "dilation", "values of at least 1"),
    (
        "aclnnConvolution",
        (npu(1, 0, 4, 4), npu(0, 0, 2, 2), *convolution()[2:9], npu(1, 0, 3, 3), convolution()[10]),
        "weight",
        "one filter",
    ),
    ("aclnnIm2col", (npu(2, 0, 4, 4), [1], [1], [0], [1], npu(2, 0, 16)), "self", "with channels"),
    ("aclnnIm2colBackward", (npu(0, 16), [4, 4], [1], [1], [0], [1], npu(0, 4, 4)), "gradOutput", "with elements of windows"),
    (
        "aclnnMaxPool2dWithIndices",
        (npu(1, 5, 5), [1], [1], [0], [1 << 32], False, npu(1, 5, 5), npu(1, 5, 5, dtype=torch.int32)),
        *("dilation", "values up to 2147483647"),
    ),
    ("aclnnInplaceFillScalar", (npu(2, dtype=torch.float16), fraction(1e30)), "value", "a real number that fits"),
    ("aclnnInplaceFillScalar", (npu(2, dtype=torch.int32), fraction(math.nan)), "value", "a real number that fits"),
    ("aclnnInplaceFillDiagonal", (npu(2, 2, 3), scalar(1), False), "selfRef", "of the same size"),
    ("aclnnMultilabelMarginLoss", (npu(2, 0), npu(2, 0, dtype=torch.int64), 0, npu(2), npu(2, 0)), "self", "with classes"),
    ("aclnnIsClose", (X, X, 0.5, -1.0, False, BOOLS), "atol", "at least 0"),
    *(
        (name, quantised(name, **given), parameter, expected)
        for name, given, parameter, expected in (
            ("aclnnAscendAntiQuant", {"offset": npu(3)}, "offset", "broadcasts"),
            ("aclnnRmsNormQuant", {"offset": npu(3)}, "offset", "broadcasts"),
            ("aclnnRmsNormQuant", {"beta": npu(2, 4)}, "beta", "broadcasts"),
            ("aclnnAddRmsNormDynamicQuant", {"smooth": npu(4, 4)}, "smoothScale1", "broadcasts"),
            ("aclnnDynamicQuantV2", {"smooth": npu(2, 4), "groups": npu(2, 1, dtype=torch.int32)}, "groupIndex", "1 dimension"),
            ("aclnnSwiGluQuant", {"smooth": npu(3)}, "smoothScales", "broadcasts"),
            ("aclnnSwiGluQuant", {"smooth": npu(2, 3), "groups": npu(2, dtype=torch.int32)}, "smoothScales", "a row of 2 values"),
            ("aclnnSwiGluQuant", {"groups": npu(2, 2, dtype=torch.int32)}, "groupIndex", "1 dimension"),
            ("aclnnQuantMatmulV3", {"bias": npu(3)}, "bias", "broadcasts"),
            ("aclnnWeightQuantBatchMatmulV2", {"bias": npu(3)}, "bias", "broadcasts"),
            ("aclnnWeightQuantBatchMatmulV2", {"offset": npu(2)}, "antiquantOffset", r"shape \[4\]"),
        )
    ),
    ("aclnnChannelShuffle", (npu(1, 3, 2), 2, npu(1, 3, 2)), "groups", "a divisor of self's dimension 1"),
    ("aclnnAvgPool3d", (npu(1, 4, 4, 4), [2], [], [2], False, True, 0, npu(1, 4, 4, 4)), "padding", "at most half of the window, 1"),
    ("aclnnMaxPool3dWithArgmax", (npu(1, 4, 4, 4), [3], [], [3], [2], False, X, X), "padding", "at most half of the window, 2"),
    ("aclnnGlu", (X, 1, X), "self", "an even dimension 1"),
    ("aclnnTopk", (X, 4, 1, True, True, X, INTEGERS), "k", "at most the 3 elements of dimension 1"),
    ("aclnnKthvalue", (X, 3, 0, False, X, INTEGERS), "k", "at most the 2 elements of dimension 0"),
    ("aclnnMultinomial", (X, 4, False, 0, 0, X), "numsamples", "at most the 3 categories"),
    ("aclnnCtcLoss", (npu(5, 1, 4), npu(1, 2, dtype=torch.int64), [5], [2], 4, False, X, X), "blank", "one of the 4 labels"),
    ("aclnnCtcLoss", (npu(5, 1, 4), npu(1, 2, dtype=torch.int64), [-5], [2], 0, False, X, X), "inputLengths", "at least 0"),
    ("aclnnGroupNorm", (npu(2, 3), None, None, 2, 3, 2, 1, 1e-5, X, None, None), "self", "N, C and HxW elements"),
    ("aclnnGroupNorm", (npu(2, 3), None, None, 2, 3, 1, 2, 1e-5, X, None, None), "group", "a divisor of C, 3"),
    ("aclnnGroupNormSilu", (npu(2, 3), None, None, 2, 1e-5, X, X, X), "group", "a divisor of self's dimension 1"),
    ("aclnnLinalgCross", (X, X, 0, X), "dim", "a dimension of 3 elements"),
    ("aclStft", (npu(4), None, X, 5, 1, 1, False, True, True), "nFft", "at most the 4 samples"),
    ("aclStft", (npu(4), None, X, 3, 1, 4, False, True, True), "winLength", "at most nFft, 3"),
    ("aclnnArange", (scalar(0), scalar(3), scalar(0), npu(3)), "step", "a number that leads from start, 0, to end, 3"),
    ("aclnnArange", (scalar(0), scalar(3), scalar(-1), npu(3)), "step", "a number that leads from start, 0, to end, 3"),
    ("aclnnCumprod", (X, scalar(2), ctypes.c_int(0), X), "dim", r"a dimension in -2\.\.1"),
    ("aclnnSplitWithSize", (X, [1, 1], 1, (X, X)), "splitSize", "sizes whose sum is dimension 1's, 3"),
    ("aclnnSplitWithSize", (X, [4, -1], 1, (X, X)), "splitSize", "at least 0"),
    ("aclnnReflectionPad1d", (X, [3, 0], npu(2, 6)), "padding", "values below self's size of 3"),
    ("aclnnReplicationPad1d", (X, [-3, 0], npu(2, 0)), "padding", "at least one element left"),
    ("aclnnReplicationPad3d", (X, [1] * 6, X), "padding", "two values for each"),
    ("aclnnEluBackward", (X, scalar(-1), scalar(1), scalar(1), True, X, X), "alpha", "a number from 0 on"),
    ("aclnnLeakyReluBackward", (X, X, scalar(-1), True, X), "negativeSlope", "a number from 0 on"),
    ("aclnnDropoutGenMaskV2", ([3, 3], 0.5, 0, 0, ctypes.c_int(4), npu(1, dtype=torch.uint8)), "out", "a bit for each element"),
    ("aclnnDropoutDoMask", (npu(9), npu(1, dtype=torch.uint8), 0.5, npu(9)), "mask", "a bit for each element"),
    *(
        (
            "aclnnMaxPool2dWithMask",
            (npu(1, 4, 4), kernel, [1], [0], [1], False, npu(1, 3, 3), npu(1, 4, 32, dtype=torch.int8)[:, :rows]),
            *says,
        )
        for kernel, rows, says in [([256], 4, ("kernelSize", "32767")), ([2], 0, ("indices", "a contiguous mask"))]
    ),
    ("aclnnFlashAttentionScore", attention(shift=X), "realShift", "null"),
    ("aclnnFlashAttentionScore", attention(padding=X), "paddingMask", "null"),
    ("aclnnFlashAttentionScore", attention(mask=npu(1, 1, 1, 3, dtype=torch.bool)), "attenMask", r"shape \[3, 3\]"),
    ("aclnnFlashAttentionScore", attention(heads=3), "query", "headNum, 3"),
    ("aclnnFlashAttentionScore", attention(key=(1, 0, 3, 4)), "key", "heads that divide"),
    ("aclnnFlashAttentionScore", attention(value=(1, 1, 3, 4)), "value", "the key's 2 heads"),
    ("aclnnFlashAttentionScore", attention(layout=b"BSH"), "query", "the dimensions BSH"),
    ("aclnnFlashAttentionVarLenScore", packed(query_ends=(1, 3)), "actualSeqKvLen", "2 values"),
    ("aclnnFlashAttentionVarLenScore", packed(query_ends=(2,)), "actualSeqQLen", "rising numbers that end with 3"),
    ("aclnnFlashAttentionVarLenScore", packed(key_ends=(4,)), "actualSeqKvLen", "rising numbers that end with 3"),
    ("aclnnGRU", gru(rows=4), "params", "3 gates of so many units in dimension 0"),
    ("aclnnGRU", gru(params=3), "params", "2 weights and biases in each of 1 layers"),
    ("aclnnGRU", gru(params=4, dropout=0.5, layers=2, train=True), "dropout", "0"),
    ("aclnnGRU", gru(train=True, states=(X, X)), "rOut", "1 values"),
]


@pytest.mark.parametrize(
    ("entry_point", "arguments", "parameter", "expected"), ROWS, ids=lambda value: value if isinstance(value, str) else ""
)
def test_phase_1_refuses(entry_point, arguments, parameter, expected):
    code, message = refusal(entry_point, *arguments)
    start, _, rest = message.partition(": expected ")
    assert code == 161002 and start == f"{entry_point}: {parameter}", message
    assert re.search(expected, rest), message


def test_training_needs_its_lists():
    code, message = refusal("aclnnGRU", *gru(train=True))
    assert code == 161001 and message.startswith("aclnnGRU: rOut: expected a list, as train is set, got null")


def test_an_output_may_lie_between_an_inputs_elements():
    rows = torch.empty(2, (64 << 20) + 1, dtype=torch.int8, device=DEVICE)
    rows[:, :2] = torch.tensor([5, -3], dtype=torch.int8)
    call("aclnnAbs", rows[:, 1:2], rows[:, :1])
    assert rows[:, :2].tolist() == [[3, -3], [3, -3]]


def test_a_result_that_depends_on_the_data_keeps_its_code():
    x = torch.ones(5, device=DEVICE)
    code, message = failure("aclnnMaskedSelect", x, x > 0, npu(2))
    assert code == 161002 and "aclnnMaskedSelect: out: expected room for 5 elements, got 2" in message


@pytest.mark.parametrize("number", [math.nan, math.inf])
def test_numbers_without_singular_values(number):
    x = torch.tensor([[1.0, 0.0], [number, 1.0]]).to(DEVICE)
    code, message = failure("aclnnSvd", x, False, True, npu(2), npu(2, 2), npu(2, 2))
    assert code == 507015 and f"aclnnSvd: input: expected values that are finite, got {number} at position [1, 0]" in message


def test_an_error_of_aten_is_one_of_the_device():
    x, index = torch.ones(2, 2, device=DEVICE), torch.tensor([5], device=DEVICE)
    code, message = failure("aclnnIndexSelect", x, 0, index, npu(1, 2))
    assert code == 507015 and "aclnnIndexSelect: index: expected positions that there are, got index out of range in self" in message
