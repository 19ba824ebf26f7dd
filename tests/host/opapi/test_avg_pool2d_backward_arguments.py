"""The arguments that aclnnAvgPool2dBackward refuses, each by its own message."""

import pytest

from support.contract_rows import VIOLATION, dtype_rows, null_rows, row, storage_rows, text
from support.dtypes import DType, Format
from support.operators import GOOD, ROWS
from support.status import NULL
from support.tensors import but, every_tensor

AVG_POOL2D = ROWS["avg_pool2d"].entry_point.name
CALL = GOOD[AVG_POOL2D]
TENSORS = ("gradOutput", "self", "gradInput")
LISTED = (DType.FLOAT, DType.FLOAT16, DType.BF16)


def all_tensors(**fields):
    return every_tensor(CALL, **fields)


def both_inputs(shape):
    return {"self": {"shape": shape}, "gradInput": {"shape": shape}}


FORMATS = [
    row(f"{name} {format.name}", {name: {"format": format}}, name, "^format NCHW or NCL$", f"^{format.name}$")
    for name in TENSORS
    for format in Format
    if format not in (Format.NCHW, Format.NCL)
]

SHAPES = [
    *(
        row(
            f"all of rank {len(shape)}",
            all_tensors(shape=shape, format=Format.NCHW),
            "gradOutput",
            "^3 to 4 dim",
            text(shape),
        )
        for shape in [(), (4,), (4, 4), (1, 2, 3, 4, 4)]
    ),
    row(
        "gradOutput of another rank",
        {"gradOutput": {"shape": (3, 2, 2)}},
        "gradOutput",
        "the 4 dimensions of self",
        text((3, 2, 2)),
    ),
    row(
        "gradInput of another rank",
        {"gradInput": {"shape": (3, 4, 4), "format": Format.NCHW}},
        "gradInput",
        r"the shape of self, \{2, 3, 4, 4\}",
        text((3, 4, 4)),
    ),
    row("negative dim of self", both_inputs((2, -3, 4, 4)), "self", "no negative dimension", text((2, -3, 4, 4))),
    row(
        "negative dim of gradOutput",
        {"gradOutput": {"shape": (2, 3, -2, 2)}},
        "gradOutput",
        "no negative dimension",
        text((2, 3, -2, 2)),
    ),
    *(
        row(
            f"gradInput {shape}",
            {"gradInput": {"shape": shape}},
            "gradInput",
            r"the shape of self, \{2, 3, 4, 4\}",
            text(shape),
        )
        for shape in [(1, 3, 4, 4), (2, 4, 4, 4), (2, 3, 5, 4), (2, 3, 4, 5)]
    ),
    *(
        row(
            f"gradOutput {shape}",
            {"gradOutput": {"shape": shape}},
            "gradOutput",
            f"^{size} in dimension {d}$",
            text(shape),
        )
        for d, (size, shape) in enumerate([(2, (1, 3, 2, 2)), (3, (2, 1, 2, 2)), (2, (2, 3, 3, 2)), (2, (2, 3, 2, 1))])
    ),
    row(
        "ceilMode gives one more",
        {"stride": (3, 3), "ceilMode": True, "gradOutput": {"shape": (2, 3, 1, 1)}},
        "gradOutput",
        "^2 in dimension 2$",
        text((2, 3, 1, 1)),
    ),
    row("without ceilMode one less", {"stride": (3, 3)}, "gradOutput", "^1 in dimension 2$", text((2, 3, 2, 2))),
    row(
        "last window would start in the padding",
        {
            "kernelSize": (2, 2),
            "stride": (3, 3),
            "padding": (1, 1),
            "ceilMode": True,
            "gradOutput": {"shape": (2, 3, 3, 3)},
            **both_inputs((2, 3, 5, 5)),
        },
        "gradOutput",
        "^2 in dimension 2$",
        text((2, 3, 3, 3)),
    ),
    row(
        "kernel larger than self",
        {"kernelSize": (5, 5), "gradOutput": {"shape": (2, 3, 0, 0)}},
        "self",
        "a size that holds a window of 5 in dimension 2",
        text((2, 3, 4, 4)),
    ),
    row(
        "too many channels",
        {"kernelSize": (1,), "stride": None} | all_tensors(shape=(1, 65536, 1, 1), strides=(0,) * 4),
        "self",
        "^at most 65535 channels$",
        text((1, 65536, 1, 1)),
    ),
    row(
        "too many channels of rank 3",
        {"kernelSize": (1,), "stride": None} | all_tensors(shape=(65536, 1, 1), strides=(0,) * 3),
        "self",
        "^at most 65535 channels$",
        text((65536, 1, 1)),
    ),
]

ATTRIBUTES = [
    *(row(f"kernelSize of length {len(v)}", {"kernelSize": v}, "kernelSize", "^1, 2 values$", f"^{len(v)}$") for v in [(), (2, 2, 2)]),
    *(
        row(f"kernelSize {v}", {"kernelSize": v}, "kernelSize", "at least 1", f"^{min(v) if min(v) < 1 else 2**31}$")
        for v in [(0,), (-1,), (2, 0), (0, 2), (2, -2), (2**31, 2)]
    ),
    row("stride of length 3", {"stride": (2, 2, 2)}, "stride", "^1, 2 values$", "^3$"),
    *(row(f"stride {v}", {"stride": v}, "stride", "at least 1", f"^{min(v)}$") for v in [(0,), (2, 0), (-1, 2)]),
    *(row(f"padding of length {len(v)}", {"padding": v}, "padding", "^1, 2 values$", f"^{len(v)}$") for v in [(), (0, 0, 0)]),
    *(row(f"padding {v}", {"padding": v}, "padding", "at least 0", f"^{min(v)}$") for v in [(-1,), (0, -1), (-2, 0)]),
    row("padding over half of the kernel's height", {"padding": (2, 0)}, "padding", "half of kernelSize 2", "^2$"),
    row("padding over half of the kernel's width", {"padding": (0, 2)}, "padding", "half of kernelSize 2", "^2$"),
    row(
        "padding over half of an odd kernel",
        {"kernelSize": (3,), "padding": (2,)},
        "padding",
        "half of kernelSize 3",
        "^2$",
    ),
    *(row(f"cubeMathType {v}", {"cubeMathType": v}, "cubeMathType", r"0\.\.3", f"^{v}$") for v in (-1, 4, 127, -128)),
    *(
        row(f"divisorOverride {v}", {"divisorOverride": v}, "divisorOverride", r"\[-255, 255\]", f"^{v}$")
        for v in (-256, 256, 2**62, -(2**62))
    ),
]


@pytest.mark.parametrize(
    VIOLATION,
    [
        *null_rows("gradOutput", "self", "kernelSize", "padding", "gradInput"),
        *dtype_rows(("gradOutput", "self", "gradInput"), LISTED),
        row(
            "gradOutput of another dtype",
            {"gradOutput": {"dtype": DType.FLOAT16}},
            "gradOutput",
            "the data type of gradInput, FLOAT$",
            "^FLOAT16$",
        ),
        row(
            "self of another dtype",
            {"self": {"dtype": DType.BF16}},
            "self",
            "the data type of gradInput, FLOAT$",
            "^BF16$",
        ),
        *FORMATS,
        row(
            "formats of self and gradInput differ",
            {"self": {"format": Format.NCL}},
            "self",
            "the format of gradInput, NCHW",
            "^NCL$",
        ),
        *SHAPES,
        *ATTRIBUTES,
        *storage_rows(AVG_POOL2D),
    ],
)
def test_refuses(aclnn, changes, code, parameter, expected, got):
    aclnn.refuses(AVG_POOL2D, but(CALL, **changes), code, parameter, expected, got)


@pytest.mark.parametrize("null", ["gradOutput", "self", "kernelSize", "padding", "gradInput"])
def test_null_is_reported_before_anything_else(aclnn, null):
    wrong = all_tensors(dtype=DType.BOOL, shape=(4,), format=Format.NC1HWC0)
    wrong |= {"kernelSize": (), "padding": (-1,), "stride": (0,), "cubeMathType": 9, "divisorOverride": 999}
    aclnn.refuses(AVG_POOL2D, but(CALL, **(wrong | {null: None})), NULL, null, "a value", "null")
