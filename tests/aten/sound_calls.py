"""A sound call of every entry point on ATen's kernels, for tests that go through their list."""

import ctypes
import functools
import re
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from arguments import KINDS, TENSOR, BoolArray, IntArray, Scalar, TensorList, kind, number
from sound_quantised import OF_THE_950, QUANTISED
from torch_aclnn.host.registry import EntryPoint, entry_points

from support.dtypes import DType
from support.marks import PRODUCT
from support.operators import ENTRY_POINTS as ON_KERNELS
from support.tensors import Tensor

if TYPE_CHECKING:
    import pytest

ENTRY_POINTS = [entry_point for entry_point in entry_points() if entry_point.parameters and entry_point.name not in ON_KERNELS]


# What the product has.
OFFERED = [entry_point for entry_point in ENTRY_POINTS if entry_point.name not in OF_THE_950 or PRODUCT == "950"]


def _one_of_each_kind(chosen: list[EntryPoint], of: tuple[type, ...]) -> set[EntryPoint]:
    # Few whose sound calls have all kinds of arguments of these classes: kinds read, check and watch, not entry points.
    kinds = {e: {p.kind for p in e.parameters if isinstance(sound_arguments(e)[p.name], of)} for e in chosen}
    left, few = set().union(*kinds.values()), set()
    while left:
        few.add(most := max(chosen, key=lambda entry_point: len(kinds[entry_point] & left)))
        left -= kinds[most]
    return few


def of_every_entry_point(*with_one_of: str, without: Collection[str] = (), of: tuple[type, ...] = (object,)) -> "pytest.MarkDecorator":
    """Parametrise a test by entry point; beyond one of each kind of argument they are of the tier ``every``.

    Args:
        with_one_of: kinds of arguments, of which an entry point must have one; none of them: all entry points.
        without: names that are left out.
        of: the classes of the arguments that the test is about.

    """
    import pytest  # programs without pytest take the calls only

    chosen = [e for e in OFFERED if not with_one_of or any(parameter.kind in with_one_of for parameter in e.parameters)]
    chosen = [e for e in chosen if e.name not in without]
    few = _one_of_each_kind(chosen, of)
    rows = [pytest.param(e, id=str(e), marks=() if e in few else pytest.mark.every) for e in chosen]
    return pytest.mark.parametrize("entry_point", rows)


POINTERS = (Tensor, TensorList, Scalar, IntArray, BoolArray, ctypes.c_char_p, type(KINDS["Scalars"].sound))

# Sound arguments that differ from the kind's, because of what must hold between them.
_HEADS = {name: Tensor((1, 1, 2, 2)) for name in ("query", "key", "value")}
_TOKENS = {name: Tensor((2, 1, 2)) for name in ("query", "key", "value")}
_BATCH = Tensor((1, 2, 2))
_MASK = Tensor((1, 2, 16), DType.INT8)
_STEPS = TensorList((_BATCH,))
_PAIR = TensorList((_BATCH, _BATCH))
_SIZES = {"N": ctypes.c_int64(2), "C": ctypes.c_int64(2), "HxW": ctypes.c_int64(1)}
_WEIGHTS = {gates: TensorList((Tensor((gates * 2, 2)),) * 2) for gates in (3, 4)}
_LISTS = {name: TensorList((tensor,)) for name, tensor in _HEADS.items() if name != "query"}
_INFERRED = {"query": _HEADS["query"], "attentionOut": Tensor((1, 1, 2, 2))}
_HALF = Tensor((2, 1), DType.INT8)
_WITH_LSE = {"softmaxLseFlag": ctypes.c_bool(True)}
_LATENT = {"kv": Tensor((1, 1, 2, 4)), "gamma": Tensor((2,)), "kCacheRef": Tensor((1, 2, 1, 2)), "ckvCacheRef": Tensor((1, 2, 1, 2))}
_KEY = {"key": Tensor((2, 1, 2)), "keyCacheRef": Tensor((2, 2, 1, 2)), "slotMapping": Tensor((2,))}
_FACTOR = Tensor((2, 2), DType.FLOAT16)
_OF_RANKS = ("MatmulReduceScatter", "AllGatherMatmul", "AlltoAllMatmul", "MatmulAlltoAll", "MatmulAllReduce")
_BYTES = Tensor((2, 2), DType.INT8)
_ON_ONE_RANK = {"epRankId": ctypes.c_int64(0), "sharedExpertRankNum": ctypes.c_int64(0)}
_DISTRIBUTED = [f"{name}{version}" for name in ("Dispatch", "Combine") for version in ("", "V2", "V3", "V4", "Setup", "Teardown")]
_RING = dict.fromkeys(("prevAttnOut", "curAttnOut", "attnOut"), Tensor((2, 1, 2)))
_RING |= {f"{part}Softmax{name}": Tensor((1, 1, 2, 8)) for part in ("prev", "cur") for name in ("Max", "Sum")}
_RING |= {f"softmax{name}": Tensor((1, 1, 2, 8)) for name in ("Max", "Sum")}
_NO_Z_LOSS = {"target": Tensor((2,)), "lseSquareScaleForZloss": ctypes.c_double(0)}
_CTC = {
    "logProbs": Tensor((2, 1, 2)), "targets": Tensor((1, 2), DType.INT64), "negLogLikelihood": Tensor((1,)), "logAlpha": Tensor((1, 2, 5))
}  # fmt: skip
_PROLOG = dict.fromkeys(("weightDq", "weightUqQr", "weightDkvKr"), Tensor((2, 2), DType.BF16))
_CHANNELS = ("mean", "invstd", "weight", "sumDy", "sumDyXmu", "gradWeight", "gradBias")
SOUND: dict[str, dict[str, Any]] = {
    **{f"aclnnDeformableConv2d{phase}": {"padding": IntArray((0,) * 4)} for phase in ("", "Backward")},
    "aclnnROIAlignBackward": {"xDiffShape": IntArray((2, 1, 1, 1))},
    "aclnnQuantConvolution": {
        **dict.fromkeys(("input", "weight"), Tensor((2, 1, 1), DType.INT8)),
        "output": Tensor((2, 2, 1)),
        "padding": IntArray((0,)),
        **dict.fromkeys(("scale", "bias"), Tensor((2,))),
        "offset": None,
        "outputPadding": IntArray((0,)),
    },
    "aclnnBatchMatMul": dict.fromkeys(("self", "mat2", "out"), _BATCH),
    "aclnnConstantPadNd": {"padding": IntArray((0, 0))},
    "aclnnClamp": {"clipValueMin": number(0)},
    "aclnnClampTensor": {"clipValueMin": TENSOR},
    "aclnnConvolutionBackward": {"outputPadding": IntArray((0,))},
    "aclnnRepeat": {"repeats": IntArray((1, 1))},
    "aclnnRoll": {"dims": IntArray((0,))},
    **{f"aclnnFlashAttentionScore{version}": _HEADS for version in ("", "V2", "V3", "V4", "Grad", "GradV3", "GradV4")},
    **{f"aclnnFlashAttentionVarLenScore{version}": _TOKENS for version in ("", "V2", "V3", "V4", "V5")},
    **{f"aclnnFlashAttentionUnpaddingScoreGrad{version}": _TOKENS for version in ("", "V2", "V3", "V4", "V5")},
    **{f"aclnnFusedInferAttentionScore{version}": {**_INFERRED, **_LISTS, **_WITH_LSE} for version in ("", "V2", "V3", "V4", "V5")},
    **{f"aclnnPromptFlashAttention{version}": {**_INFERRED, **_HEADS} for version in ("", "V2", "V3")},
    "aclnnFlashAttentionScoreGradV2": {**_HEADS, "pseType": ctypes.c_int64(1)},
    **{f"aclnnIncreFlashAttention{version}": {**_INFERRED, **_LISTS} for version in ("", "V2", "V3", "V4")},
    "aclnnScatterPaKvCache": {**_KEY, "value": _KEY["key"], "valueCacheRef": _KEY["keyCacheRef"]},
    "aclnnScatterPaCache": _KEY,
    "aclnnGatherPaKvCache": {"seqLens": Tensor((2,)), "keyRef": Tensor((2, 1)), "valueRef": Tensor((2, 1))},
    **dict.fromkeys(("aclnnKvRmsNormRopeCache", "aclnnKvRmsNormRopeCacheV2"), _LATENT),
    **{f"aclnnTransQuantParam{version}": {"out": Tensor((2, 2), DType.INT64)} for version in ("V2", "V3")},
    "aclnnMoeTokenPermute": {"permuteTokensOut": Tensor((1, 2))},
    **{f"aclnnMoeTokenUnpermuteWithRoutingMap{phase}": {"routingMap": TENSOR} for phase in ("", "Grad")},
    **{f"aclnn{name}": {"y": _HALF} for name in ("SwiGluQuant", "SwiGluQuantV2", "DequantSwigluQuant", "DequantSwigluQuantV2")},
    **dict.fromkeys(("aclnnCrossEntropyLoss", "aclnnCrossEntropyLossGrad"), _NO_Z_LOSS),
    **{f"aclnn{name}{version}": {"x2": _FACTOR} for name in _OF_RANKS for version in ("", "V2")},
    "aclnnMatmulAllReduceV3": {"x2": _FACTOR},
    **{f"aclnn{place}MatmulAllReduceAddRmsNorm": {"x2": _FACTOR} for place in ("", "Inplace")},
    **{f"aclnn{place}{kind}MatmulAllReduceAddRmsNorm": {"x2": _BYTES} for place in ("", "Inplace") for kind in ("Quant", "WeightQuant")},
    **{f"aclnn{kind}MatmulAllReduce{v}": {"x2": _BYTES} for kind in ("Quant", "WeightQuant") for v in ("", "V2")},
    **{f"aclnnQuantMatmul{name}": {"x2": _BYTES} for name in ("AllReduceV3", "AllReduceV4", "AllReduceV5", "AlltoAll", "AlltoAllV2")},
    **{f"aclnnMoeDistribute{name}": _ON_ONE_RANK for name in (*_DISTRIBUTED, "CombineAddRmsNorm", "CombineAddRmsNormV2")},
    "aclnnMoeFinalizeRoutingV4": {"k": ctypes.c_int64(2)},
    "aclnnMoeInitRoutingQuantV2": {"quantMode": ctypes.c_int64(1)},
    "aclnnMoeUpdateExpert": {"localRankId": ctypes.c_int64(0)},
    "aclnnMaxPool2dWithMask": {"out": Tensor((1, 2, 2)), "indices": _MASK},
    "aclnnMaxPool2dWithMaskBackward": {"gradOutput": Tensor((1, 2, 2)), "indices": _MASK},
    "aclnnLSTM": {"params": _WEIGHTS[4], "hx": _PAIR},
    "aclnnLstmBackward": {"params": _WEIGHTS[4], "dparams": _WEIGHTS[4], "hx": _PAIR, **dict.fromkeys("ijfohc", _STEPS), "tanhC": _STEPS},
    **{f"aclnnForeachAddc{name}List": {"scalars": Tensor((1,))} for name in ("mulScalar", "divScalar", "mul", "div")},
    "aclnnGRU": {"params": _WEIGHTS[3]},
    "aclnnGRUBackward": {"params": _WEIGHTS[3], "dparams": _WEIGHTS[3], **dict.fromkeys(("r", "z", "n", "hn", "h"), _STEPS)},
    "aclnnThnnFusedLstmCell": {"inputGates": Tensor((2, 8)), "hiddenGates": Tensor((2, 8))},
    "aclnnThnnFusedLstmCellBackward": {"storage": Tensor((2, 8))},
    **dict.fromkeys(("aclnnGroupNorm", "aclnnGroupNormBackward"), _SIZES),
    **{name: {"step": number(1), "end": number(2)} for name in ("aclnnArange", "aclnnRange")},
    **{f"aclnn{name}Pad3d": {"self": Tensor((2, 2, 2, 2))} for name in ("Reflection", "Replication")},
    "aclnnRoiAlignV2Backward": {"inputShape": IntArray((2, 1, 2, 2))},
    "aclnnLinalgCross": dict.fromkeys(("self", "other", "out"), Tensor((2, 3))),
    "aclnnAttentionUpdate": {"lse": TensorList((Tensor((2,)),)), "localOut": TensorList((TENSOR,))},
    **{f"aclnnBatchNorm{phase}": dict.fromkeys(("runningMean", "runningVar"), Tensor((2,))) for phase in ("", "Backward")},
    "aclnnCtcLoss": _CTC,
    "aclnnCtcLossBackward": _CTC | {"gradOut": Tensor((1,)), "out": Tensor((2, 1, 2))},
    "aclnnForeachNorm": {"out": TensorList((Tensor((1,)),))},
    **{f"aclnnGridSampler3D{phase}": {"grid": Tensor((1, 1, 1, 2, 3))} for phase in ("", "Backward")},
    **{f"aclnnRepeatInterleave{of}": {"outputSize": ctypes.c_int64(4)} for of in ("", "Int", "Tensor")},
    **{f"aclnnRepeatInterleave{of}WithDim": {"outputSize": ctypes.c_int64(2)} for of in ("", "Int")},
    "aclnnEmbeddingDenseBackward": {"numWeights": ctypes.c_int64(2)},
    "aclnnMoeTokenPermuteWithRoutingMapGrad": {"tokensNum": ctypes.c_int64(2), "expertsNum": ctypes.c_int64(2)},
    "aclnnSlice": {"end": ctypes.c_int64(2), "out": Tensor((2, 1))},
    "aclnnPermute": {"dims": IntArray((1, 0))},
    "aclnnExpand": {"size": IntArray((2, 2))},
    "aclnnSliceV2": {"starts": IntArray((0,)), "steps": IntArray((1,))},
    **{name: {"updates": Tensor((2,))} for name in ("aclnnScatterNd", "aclnnScatterNdUpdate")},
    "aclnnStridedSliceAssignV2": {"begin": IntArray((0,)), "strides": IntArray((1,))},
    "aclnnEinsum": {"tensors": TensorList((Tensor((2,)), Tensor((2,))))},
    "aclnnInstanceNorm": {
        **dict.fromkeys(("x", "y"), Tensor((1, 2, 2, 2))),
        **dict.fromkeys(("gamma", "beta"), Tensor((2,))),
        **dict.fromkeys(("mean", "variance"), Tensor((1, 2, 1, 1))),
    },
    "aclnnDropout": {"train": ctypes.c_bool(True), "maskOut": Tensor((2, 2), DType.UINT8)},
    "aclnnDropoutBackward": {"mask": Tensor((2, 2), DType.UINT8)},
    **QUANTISED,
    **OF_THE_950,
    "aclnnClippedSwiglu": {"out": Tensor((2, 1))},
    "aclnnInterleaveRope": dict.fromkeys(("x", "cos", "sin", "out"), Tensor((1, 1, 1, 64))),
    **{f"aclnnRingAttentionUpdate{version}": _RING for version in ("", "V2")},
    **{f"aclnnGatherV{n}": {"index": Tensor((2, 2), DType.INT64), "out": Tensor((2, 2, 2))} for n in (2, 3)},
    "aclnnConfusionTranspose": {"perm": IntArray((1, 0))},
    "aclnnStridedSlice": {
        **{name: IntArray((value,) * 2) for name, value in (("begin", 0), ("end", 2), ("strides", 1))},
        **{f"{name}Mask": ctypes.c_int64(0) for name in ("ellipsis", "newAxis", "shrinkAxis")},
    },
    **{f"aclnnRopeWithSinCosCache{version}": {"headSize": ctypes.c_int64(2)} for version in ("", "V2")},
    **{f"aclnnUpsample{name}": {"inputSize": IntArray((1, 1, 2, 2))} for name in ("Bicubic2dAAGrad", "Bilinear2dAABackward")},
    "aclnnScatterList": {"axis": ctypes.c_int64(-1)},
    "aclnnSimThreadExponential": {"count": ctypes.c_int64(4)},
    **{f"aclnnDropoutV3{form}": {"maskOut": Tensor((2, 2), DType.UINT8)} for form in ("", "Tensor")},
    "aclnnFusedAdam": {"stateSteps": TensorList((Tensor((1,)),))},
    "aclnnAttentionToFFN": {
        "scales": None,
        **{
            f"{name}Shape": IntArray(sizes)
            for name, sizes in (("ffnTokenInfoTable", (1, 1, 4)), ("ffnTokenData", (1, 1, 2, 1, 2)), ("attnTokenInfoTable", (1, 2, 1)))
        },
    },
    "aclnnFFNToAttention": {"tokenDataShape": IntArray((1, 1, 1, 2))},
    **{f"aclnn{name}IndexFillTensor": {"index": IntArray((0, 1))} for name in ("", "Inplace")},
    **{f"aclnnMaxUnpool{d}d": {"indices": Tensor(TENSOR.shape, DType.INT64)} for d in (2, 3)},
    "aclnnMaxPool": {"pads": IntArray((0, 0)), "dilations": IntArray((1, 1))},
    "aclnnSoftmaxCrossEntropyWithLogits": {"loss": Tensor((2,))},
    "aclnnGer": {"self": Tensor((2,)), "vec2": Tensor((2,))},
    "aclnnDeepNormGrad": {"gamma": Tensor((2,)), "mean": Tensor((2, 1)), "rstd": Tensor((2, 1))},
    "aclnnBatchNormReduceBackward": dict.fromkeys(_CHANNELS, Tensor((2,))),
    "aclnnTopKTopPSample": {"isNeedLogits": ctypes.c_bool(True)},
    "aclnnTopKTopPSampleV2": dict.fromkeys(("isNeedLogits", "isNeedSampleResult"), ctypes.c_bool(True)),
    **{f"aclnnSparseFlashAttention{version}": {"returnSoftmaxLse": ctypes.c_bool(True)} for version in ("", "V2")},
    "aclnnLightningIndexer": {"returnValue": ctypes.c_bool(True)},
    "aclnnFusedLinearCrossEntropyLossGrad": {"softmax": TENSOR},
    "aclnnNsaCompressAttention": dict.fromkeys(("actualSeqQLen", "actualCmpSeqKvLen"), IntArray((2,))),
    **{f"aclnnNsaSelectedAttention{phase}": dict.fromkeys(("actualSeqQLen", "actualSeqKvLen"), IntArray((2,))) for phase in ("", "Grad")},
    "aclnnNsaCompressAttentionInfer": {"blockTable": TENSOR, "actualCmpKvSeqLen": IntArray((2,))},
    "aclnnNsaSelectedAttentionInfer": {"blockTable": TENSOR, "actualKvSeqLen": IntArray((2,))},
    "aclnnBlockSparseAttention": {"blockShape": IntArray((2, 2)), "softmaxLseFlag": ctypes.c_int64(1)},
    "aclnnBlockSparseAttentionGrad": {"blockShape": IntArray((2, 2))},
    **{f"aclnnKvQuantSparseFlashAttention{version}": {"key": Tensor((1, 2, 1, 7), DType.INT8)} for version in ("", "V2")},
    **{f"aclnnMlaPrologV{version}WeightNz": {"cacheIndex": Tensor((2,), DType.INT64), **_PROLOG} for version in (2, 3)},
    "aclnnQkvRmsNormRopeCache": {"qkvSize": IntArray((2, 1, 3, 2))},
    "aclnnDequantRopeQuantKvcache": {"sizeSplits": IntArray((2, 2, 2)), "kvOutput": ctypes.c_bool(True)},
    "aclnnLayerNormBackward": {"mean": Tensor((2,)), "rstd": Tensor((2,))},
}


# Of which all tensors and numbers must have the first one's data type, and that is not FLOAT.
_OF_INTEGERS = re.compile("aclnn(Inplace)?(Bitwise|LeftShift|RightShift|Gcd)")


def _shapes() -> dict[tuple[str, str], tuple[int, ...]]:
    found = {}
    for line in Path(__file__).with_name("sound_shapes.txt").read_text().splitlines():
        names, *groups = line.split()
        for parameters, shape in (group.split(":") for group in groups):
            sizes = tuple(int(size) for size in shape.split(",") if size)
            found |= {(name, parameter): sizes for name in names.split(",") for parameter in parameters.split(",")}
    return found


# Of tensors that are not of the shape of TENSOR, nor in the rows above: entry points, and their parameters with a shape.
SHAPES = _shapes()


def sized(entry_point: EntryPoint, name: str, value: Any) -> Any:
    """Return a parameter's sound value, a tensor in the shape that the parameter has."""
    shape = SHAPES.get((entry_point.name, name)) if isinstance(value, Tensor) else None
    return value if shape is None else value.but(shape=shape)


def sound_arguments(entry_point: EntryPoint) -> dict[str, Any]:
    """Return an argument for each parameter; null for those that may be."""
    arguments = {p.name: None if p.nullable else kind(p.kind).sound for p in entry_point.parameters}
    with_dtype = next((name for name, value in arguments.items() if isinstance(value, (Tensor, TensorList))), None)
    dtype = usual(entry_point.data_types)
    own = SOUND.get(entry_point.name, {})
    assert arguments.keys() >= own.keys()
    arguments.update(own)
    arguments = {name: sized(entry_point, name, value) for name, value in arguments.items()}
    dtypes = {p.name: usual(p.data_types) for p in entry_point.parameters if p.data_types}
    if _OF_INTEGERS.match(entry_point.name):
        dtypes |= {name: dtype for name, value in arguments.items() if isinstance(value, Tensor)}
        arguments |= {name: Scalar(DType.INT64) for name, value in arguments.items() if isinstance(value, Scalar)}
    for name, own_dtype in (dtypes | ({with_dtype: dtype} if with_dtype else {})).items():
        arguments[name] = of_dtype(arguments[name], own_dtype)
    return arguments


def usual(data_types: frozenset[int]) -> int:
    """Return FLOAT or another one of the data types."""
    return next((dtype for dtype in (DType.FLOAT, DType.INT64) if dtype in data_types), min(data_types))


def of_dtype(value: Any, dtype: int) -> Any:
    """Return a tensor, or a list of them, of the data type; null as it is."""
    if isinstance(value, Tensor):
        return value.but(dtype=dtype)
    return value and TensorList(tuple(member.but(dtype=dtype) for member in value.members))


@functools.cache
def _functions() -> ctypes.CDLL:
    return ctypes.CDLL("libaclnn_math.so")


def phase1(entry_point: EntryPoint, arguments: Iterable[Any]) -> tuple[int, ctypes.c_void_p, int]:
    """Return the code of phase 1, the executor, and the size of the workspace that it asks for."""
    function = getattr(_functions(), entry_point.name + "GetWorkspaceSize")
    size, executor = ctypes.c_uint64(), ctypes.c_void_p()
    return function(*arguments, ctypes.byref(size), ctypes.byref(executor)), executor, size.value


def phase2(entry_point: EntryPoint, executor: ctypes.c_void_p, workspace: int | None = None, size: int = 0) -> int:
    """Return the code of phase 2."""
    function = getattr(_functions(), entry_point.name)
    return function(ctypes.c_void_p(workspace), ctypes.c_uint64(size), executor, None)
