"""Which data types the published pages of each entry point list, by product and CANN version.

To refuse a data type that a page lists is a failure; one that no page lists may be refused.
"""

import re

from torch_aclnn._operators import BY_NAME

# The pages say of Atlas 200I/500 A2 (310B) that it has none of these entry points, and do not mention 950.
PRODUCTS = ("inference", "A2", "A3", "310B", "950")


def since(operator: str, dtype: str, product: str) -> str | None:
    """Return the first CANN version whose page lists the data type for the product, or None if no page does."""
    found = (row.since.get(product) for row in BY_NAME[operator].listed if dtype in row.dtypes)
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
    """Return a key that orders 8.0.RC1.alpha002 before 8.0.RC1, that before 8.0.RC3, and that before 8.0.0."""
    numbers = [int(number) for number in re.findall(r"\d+", version)]
    major, minor, last = (*numbers[:3], 0, 0, 0)[:3]
    return major, minor, int("RC" not in version.upper()), last, int("alpha" not in version)
