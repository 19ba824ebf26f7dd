"""Sound arguments of products with weights in blocks, of quantisation, and of what the 950 has alone."""

import ctypes
from typing import Any

from arguments import BLOCKS, BYTES, FEW_BITS, FLOAT4_E2M1, FLOAT8_E4M3FN, FLOAT8_E8M0, IntArray, TensorList

from support.dtypes import DType
from support.tensors import Tensor

HIFLOAT8 = 34

_BATCH = Tensor((1, 2, 2))
_HALF = Tensor((2, 1), DType.INT8)
_BATCH_OF_BLOCKS = BLOCKS.but(shape=(1, 2, 2), storage=(1, 1, 1, 16, 8))
_FLOAT_BLOCKS = {"mat2": BLOCKS.but(dtype=DType.FLOAT)}
_PERMUTED = {
    "x1": _BATCH, "x2": _BATCH, "out": Tensor((2, 1, 2)), "permY": IntArray((1, 0, 2)),
    **dict.fromkeys(("permX1", "permX2"), IntArray((0, 1, 2)))
}  # fmt: skip
_EXPERTS = {"groupList": Tensor((1,)), "xScale": Tensor((2,)), "weightScale": Tensor((1, 2)), "outputScale": Tensor((2,)), "output": _HALF}
_FINALIZED = {"scale": Tensor((1, 2)), "groupList": Tensor((1,)), "rowIndex": Tensor((2,), DType.INT64)}
_MATRIX = BYTES.but(shape=(1, 2, 2))
_LISTED = {"weight": TensorList((_MATRIX,)), "weightScale": TensorList((Tensor((1, 2)),))}
_NETWORK = dict.fromkeys(("weight1", "weight2"), Tensor((2, 2), DType.FLOAT16))
_ZERO = ctypes.c_int64(0)

QUANTISED: dict[str, dict[str, Any]] = {
    **dict.fromkeys(("aclnnMatmulWeightNz", "aclnnAddmmWeightNz"), _FLOAT_BLOCKS),
    "aclnnBatchMatMulWeightNz": {"self": _BATCH, "out": _BATCH, "mat2": _BATCH_OF_BLOCKS.but(dtype=DType.FLOAT)},
    "aclnnTransposeBatchMatMul": _PERMUTED,
    **{f"aclnnTransposeBatchMatMulWeight{nz}": _PERMUTED | {"x2": _BATCH_OF_BLOCKS.but(dtype=DType.FLOAT)} for nz in ("Nz", "NZ")},
    **{f"aclnn{name}": {"groupSize": _ZERO} for name in ("QuantMatmulV5", "QuantMatmulWeightNz")},
    **{f"aclnnFusedQuantMatmul{blocks}": {"groupSize": _ZERO} for blocks in ("", "WeightNz")},
    "aclnnQuantMatmulReduceSumWeightNz": {
        "x1": _MATRIX, "x2": _BATCH_OF_BLOCKS, "groupSize": _ZERO,
        "x1Scale": Tensor((1, 2)), "x2Scale": Tensor((2,))
    },
    **{
        f"aclnnGroupedMatmulAdd{version}": {
            "yRef": Tensor((4, 2, 2)), "transposeX": ctypes.c_bool(True), "groupType": ctypes.c_int64(2)
        } for version in ("", "V2")
    },
    "aclnnGroupedMatmulSwigluQuant": _EXPERTS | {"weight": _MATRIX},
    "aclnnGroupedMatmulSwigluQuantWeightNZ": _EXPERTS | {"weight": _BATCH_OF_BLOCKS},
    **{f"aclnnGroupedMatmulSwigluQuant{name}": _EXPERTS | _LISTED for name in ("V2", "WeightNzV2")},
    **{f"aclnnGroupedMatmulFinalizeRouting{name}": _FINALIZED | {"w": _MATRIX} for name in ("", "V2", "V3")},
    **{f"aclnnGroupedMatmulFinalizeRouting{name}": _FINALIZED | {"w": _BATCH_OF_BLOCKS} for name in ("WeightNz", "WeightNzV2")},
    "aclnnBatchMatmulQuant": {"out": BYTES, "quantParam": Tensor((2,), DType.UINT64)},
    "aclnnQuantMatmulV2": {"deqScale": Tensor((16,))},
    "aclnnQuantMatmulDequant": {"weightScale": Tensor((2,))},
    **{
        f"aclnnQuantGroupedMatmulDequant{blocks}": {
            "quantizedWeight": weight, "weightScale": Tensor((1, 2)), "groupList": Tensor((1,))
        } for blocks, weight in {"": _MATRIX, "WeightNZ": _BATCH_OF_BLOCKS}.items()
    },
    **dict.fromkeys(("aclnnFFN", "aclnnFFNV2", "aclnnFFNV3"), _NETWORK),
    "aclnnGroupQuant": {"scale": Tensor((1, 2)), "groupIndex": Tensor((1,))},
    "aclnnDequantBias": {"weightScale": Tensor((2,)), "outputDtype": _ZERO},
    "aclnnRmsNormGradQuant": {"rstd": Tensor((1,))},
    "aclnnRotateQuant": {"scale": Tensor((2,))},
    **{f"aclnnFlatQuant{version}": {"x": _BATCH, "out": _MATRIX, "quantScale": Tensor((1,))} for version in ("", "V2")},
    **{
        f"aclnnInplaceQuantScatter{version}": {
            "selfRef": _MATRIX, "indices": Tensor((1,)), "updates": Tensor((1, 1, 2)), "quantScales": Tensor((2,)),
            "quantAxis": ctypes.c_int64(-1)
        } for version in ("", "V2")
    },
    "aclnnSwigluGroupQuantGrad": {"gradY": Tensor((2, 1))},
    "aclnnDynamicQuantV4": {"scale": Tensor((2,))},
}  # fmt: skip

_SCALES = {name: Tensor(shape, FLOAT8_E8M0) for name, shape in (("mxscale", (2, 1, 2)), ("mxscale1", (2, 1, 2)), ("mxscale2", (1, 2, 2)))}
_DUAL = {name: _SCALES[name] for name in ("mxscale1", "mxscale2")}
_ONE_SCALE = {"mxscale": _SCALES["mxscale"]}
_HALVES = {name: Tensor((2, 1), FLOAT8_E4M3FN) for name in ("y1", "y2")} | {n: t.but(shape=(*t.shape[:1], 1, 2)) for n, t in _DUAL.items()}
_EXPERTS_OF_RANKS = {
    "gmmWeight": Tensor((1, 2, 2), HIFLOAT8), "gmmXScale": Tensor((1,)), "gmmWeightScale": Tensor((1,)), "groupSize": _ZERO
}  # fmt: skip
_ONE_HEAD = Tensor((1, 1, 2, 2))
_STATISTICS = dict.fromkeys(("softmaxMax", "softmaxSum"), Tensor((1, 1, 2, 1)))
_ATTENTION = _STATISTICS | {
    **dict.fromkeys(("query", "key", "value"), _ONE_HEAD.but(dtype=HIFLOAT8)),
    **{f"dScale{letter}": Tensor((1, 1, 1, 1)) for letter in "QKV"},
}
_GRADIENTS = dict.fromkeys(("attentionIn", "dq", "dk", "dv"), _ONE_HEAD)
OF_THE_950: dict[str, dict[str, Any]] = {
    **{f"aclnnAlltoAllQuantMatmul{version}": {"x2Scale": Tensor((2,))} for version in ("", "V2")},
    **{
        f"aclnn{name}{version}": _EXPERTS_OF_RANKS
        for name in ("AlltoAllvQuantGroupedMatMul", "QuantGroupedMatMulAlltoAllv") for version in ("", "V2")
    },
    "aclnnQuantGroupedMatmulInplaceAdd": {
        "scale2": Tensor((1, 2)), "groupList": Tensor((1,), DType.INT64), "yRef": Tensor((1, 2, 2))
    },
    "aclnnDualLevelQuantMatmulWeightNz": {
        "x1": Tensor((2, 4), FLOAT4_E2M1), "x1Level0Scale": Tensor((2, 1)), "x2Level0Scale": Tensor((1, 2)),
        **dict.fromkeys(("x1Level1Scale", "x2Level1Scale"), _SCALES["mxscale"]), "transposeX2": ctypes.c_bool(True),
        "level0GroupSize": ctypes.c_int64(512), "level1GroupSize": ctypes.c_int64(32)
    },
    "aclnnWeightQuantPreprocess": {**dict.fromkeys(("weightScale", "outWeightScale"), _SCALES["mxscale2"]), "kGroupSize": _ZERO},
    "aclnnQuantFlashAttentionScore": _ATTENTION | {"attentionOut": _ONE_HEAD},
    "aclnnQuantFlashAttentionScoreGrad": _ATTENTION | _GRADIENTS | {"dy": _ONE_HEAD.but(dtype=HIFLOAT8), "dScaleDy": Tensor((1, 1, 1, 1))},
    **{f"aclnnDynamicMxQuant{version}": _ONE_SCALE | {"blocksize": ctypes.c_int64(32)} for version in ("", "V2", "V3")},
    "aclnnAntiMxQuant": _ONE_SCALE,
    **{f"aclnnDynamicMxQuantWithDualAxis{version}": _DUAL for version in ("", "V2")},
    "aclnnDynamicDualLevelMxQuant": {
        "y": Tensor((2, 2), FLOAT4_E2M1), "level0Scale": Tensor((2, 1)), "level1Scale": _SCALES["mxscale"],
        "level0BlockSize": ctypes.c_int64(512), "level1BlockSize": ctypes.c_int64(32)
    },
    "aclnnSwigluMxQuant": _ONE_SCALE | {"y": Tensor((2, 1), FLOAT8_E4M3FN)},
    "aclnnSwigluMxQuantWithDualAxis": _HALVES,
    "aclnnSwigluBackwardMxQuantWithDualAxis": _DUAL | {"yGrad": Tensor((2, 1))},
    **dict.fromkeys(("aclnnRmsNormDynamicMxQuant", "aclnnAddRmsNormDynamicMxQuant"), _ONE_SCALE),
    "aclnnQuantBatchMatmulInplaceAdd": {"groupSize": _ZERO, "x1Scale": _SCALES["mxscale"], "x2Scale": _SCALES["mxscale2"]},
    "aclnnTransposeQuantBatchMatMul": _PERMUTED | {"x1": FEW_BITS.but(shape=(1, 2, 2)), "x2": FEW_BITS.but(shape=(1, 2, 2))},
    "aclnnTransposeQuantBatchMatMulWeightNz": _PERMUTED | {
        "x1": FEW_BITS.but(shape=(1, 2, 2)), "x2": _BATCH_OF_BLOCKS.but(dtype=FLOAT8_E4M3FN)
    },
    "aclnnQuantMax": {"scale": Tensor((1,)), "amax": Tensor((1,))},
    "aclnnGroupedQuantMax": {"scale": Tensor((1,)), "amax": Tensor((1,)), "groupList": Tensor((1,))},
    **{
        f"aclnnGroupedDynamicMxQuant{version}": {
            "groupIndex": Tensor((1,)), "mxscale": Tensor((1, 2, 2), FLOAT8_E8M0)
        } for version in ("", "V2")
    },
    "aclnnDynamicBlockMxQuant": {"scale1": _SCALES["mxscale1"], "scale2": _SCALES["mxscale2"]},
    **{
        f"aclnnGroupedDynamicBlockQuant{version}": {
            "groupList": Tensor((1,)), "colBlockSize": ctypes.c_int64(64), "scale": Tensor((3, 1)), **of_version
        } for version, of_version in {"": {}, "V2": {"dstTypeMax": ctypes.c_double(0)}}.items()
    },
    "aclnnSwigluGroupQuant": {
        "y": Tensor((2, 1), HIFLOAT8), "dstType": ctypes.c_int64(HIFLOAT8), "quantMode": ctypes.c_int64(3), "weight": Tensor((2, 1)),
        "groupIndex": Tensor((1,), DType.INT64), "scale": None, "outputOrigin": ctypes.c_bool(True),
        "yScale": Tensor((1,)), "yOrigin": Tensor((2, 1))
    },
}  # fmt: skip
