"""What the tests know of each operator, a module each: a further operator is covered once its module is here.

A module has `ENTRY_POINT` for the tests of the C interface, `FUNCTION` and `LIMITS` for those of :mod:`torch_aclnn.functional`, and
`OPERATOR` for those of ``torch.ops.torch_aclnn``. It uses torch only within functions: the tests of the C interface import it in processes
that have no torch.
"""

from importlib import import_module
from pathlib import Path

NAMES = tuple(sorted(path.stem for path in Path(__file__).parent.glob("[a-z]*.py")))
MODULES = tuple(import_module(f"{__name__}.{name}") for name in NAMES)
ENTRY_POINTS = {module.ENTRY_POINT.name: module.ENTRY_POINT for module in MODULES}
GOOD = {name: entry_point.good for name, entry_point in ENTRY_POINTS.items()}
