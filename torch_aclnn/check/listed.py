"""Which data types the published pages of each entry point list, by product and CANN version.

What a page lists must be taken: a refusal of it is a failure. What no page lists may be refused, which is not. The pages are those of
hiascend.com, from CANN 8.0.RC1 to 8.5.0.alpha002; the version is that of the earliest page found that lists the data types. For the
products of the newest pages see csrc/contract/products.h.
"""

import re
from dataclasses import dataclass

_FLOATS = ("float32", "float16")
_WIDE = ("float32", "float16", "float64", "complex64", "complex128")
_MOVED_2D = ("float32", "float16", "int8", "uint8", "int16", "int32", "int64")

# The pages say of Atlas 200I/500 A2 (310B) that it has none of these entry points, and do not mention 950.
PRODUCTS = ("inference", "training", "A2", "A3", "310B", "950")


@dataclass(frozen=True)
class Row:
    """Data types of an operator's gradient.

    Attributes:
        since: for each product whose page lists them, the first CANN version.

    """

    operator: str
    dtypes: tuple[str, ...]
    since: dict[str, str]


_ALL = {"inference": "8.0.RC3", "training": "8.0.RC3", "A2": "8.0.RC3", "A3": "8.1.RC1"}
_FROM_8_0_RC1 = {"inference": "8.0.RC1", "training": "8.0.RC1", "A2": "8.0.RC1"}
_A2 = {"A2": "8.0.RC3", "A3": "8.1.RC1"}

ROWS = (
    Row("avg_pool2d", _FLOATS, _ALL),
    Row("avg_pool2d", ("bfloat16",), _A2),
    Row("avg_pool3d", (*_FLOATS, "bfloat16"), _A2),
    Row("adaptive_avg_pool2d", _FLOATS, {**_ALL, **_FROM_8_0_RC1}),
    Row("adaptive_avg_pool2d", ("bfloat16",), _A2),
    Row("adaptive_avg_pool3d", (*_FLOATS, "bfloat16"), _A2),
    Row("replication_pad1d", _WIDE, {**_FROM_8_0_RC1, "A3": "8.2.RC1.alpha003"}),
    Row("replication_pad2d", _WIDE, _ALL),
    Row("replication_pad3d", _WIDE, {"training": "8.0.RC3", "A2": "8.0.RC3", "A3": "8.3.RC1"}),
    Row("replication_pad3d", ("bfloat16",), {"A2": "8.0.0", "A3": "8.3.RC1"}),
    Row("reflection_pad1d", _WIDE, {**_FROM_8_0_RC1, "A3": "8.1.RC1"}),
    Row("reflection_pad1d", ("bfloat16",), {"A2": "8.3.RC1", "A3": "8.3.RC1"}),
    Row("reflection_pad2d", _WIDE, _ALL),
    Row("reflection_pad3d", _WIDE, {"training": "8.0.RC3", **_A2}),
    Row("circular_pad2d", (*_FLOATS, "bfloat16"), {"A2": "8.0.0", "A3": "8.1.RC1"}),
    Row("circular_pad3d", (*_FLOATS, "bfloat16"), {"A2": "8.0.0", "A3": "8.1.RC1"}),
    Row("max_unpool2d", _MOVED_2D, {"training": "8.0.RC1", "A2": "8.0.RC1", "A3": "8.3.RC1.alpha001"}),
    Row("max_unpool3d", (*_MOVED_2D, "float64"), {"training": "8.0.RC1", "A2": "8.0.RC1", "A3": "8.2.RC1"}),
    Row("batch_norm_elemt", _FLOATS, {"training": "8.0.RC1", "A2": "8.0.RC1", "A3": "8.1.RC1"}),
    Row("batch_norm_elemt", ("bfloat16",), {"A2": "8.2.RC1", "A3": "8.2.RC1"}),
)


def since(operator: str, dtype: str, product: str) -> str | None:
    """Return the first CANN version whose page lists the data type for the product, or None if no page does."""
    found = (row.since.get(product) for row in ROWS if row.operator == operator and dtype in row.dtypes)
    return next((version for version in found if version), None)


def is_listed(operator: str, dtype: str, product: str, cann: str | None) -> bool:
    """Return whether this CANN has to take the data type; an unknown version counts as 8.0.0.

    Args:
        operator: as in :mod:`torch_aclnn._operators`.
        dtype: such as float16.
        product: one of :data:`PRODUCTS`.
        cann: CANN's version, such as 8.0.RC3 or 8.5.0, or None if it is unknown.

    """
    first = since(operator, dtype, product)
    return first is not None and _order(cann or "8.0.0") >= _order(first)


def _order(version: str) -> tuple[int, ...]:
    """Return what puts 8.0.RC1.alpha002 before 8.0.RC1, that before 8.0.RC3, and that before 8.0.0."""
    numbers = [int(number) for number in re.findall(r"\d+", version)]
    major, minor, last = (*numbers[:3], 0, 0, 0)[:3]
    return major, minor, int("RC" not in version.upper()), last, int("alpha" not in version)
