"""What the tests of the C interface know of one operator's entry point."""

import os
import runpy
from collections.abc import Callable, Iterable, Mapping
from ctypes import c_bool, c_int64, c_void_p
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from support.dtypes import Format
from support.status import INVALID
from support.tensors import Tensor, tensors_of

# The products by their generation, as TORCH_ACLNN_HOST_SOC names them.
INFERENCE, A2, A3 = ("Ascend310P3",), ("Ascend910B3",), ("Ascend910_9391",)
EDGE = ("Ascend310B1",)  # offers no operator
UNTOLD = ("Ascend950PR_9599",)  # on no page: taken where torch_npu calls the operator, refused in strict mode
GENERATIONS = {"inference": INFERENCE, "A2": A2, "A3": A3, "310B": EDGE, "950": UNTOLD}
PRODUCTS = tuple(product for products in GENERATIONS.values() for product in products)

DTypesByProduct = Mapping[str, frozenset[str]]

# Where the tested package is, for child processes that start without site-packages.
PACKAGE = "PACKAGE_UNDER_TEST"
os.environ.setdefault(PACKAGE, *getattr(find_spec("torch_aclnn"), "submodule_search_locations", [""]))

# The package imports torch, which there may be none of; its table does not.
_TABLE = runpy.run_path(str(Path(os.environ[PACKAGE], "_operators.py")))
OPERATORS = _TABLE["OPERATORS"]
_NAMES = {"float32": "FLOAT", "float64": "DOUBLE", "bfloat16": "BF16"}


def listed(name: str, product: str) -> set[str]:
    """Return the names of the data types that the pages of an operator list for a product."""
    rows = [row for row in _TABLE["BY_NAME"][name].listed if product in row.since]
    return {_NAMES.get(dtype, dtype.upper()) for row in rows for dtype in row.dtypes}


def by_product(inference: set[str], a2: set[str], *, on_untold: bool = True) -> DTypesByProduct:
    """Return the names of the data types that each product takes; those of A2 are A3's, too."""
    generations = ((INFERENCE, inference), (A2 + A3, a2), (EDGE, set()), (UNTOLD, a2 if on_untold else set()))
    return {product: frozenset(dtypes) for products, dtypes in generations for product in products}


def by_pages(name: str, assumed: Iterable[str] = (), *, on_untold: bool = True) -> DTypesByProduct:
    """Return the names of the data types that each product takes of an operator: those that its pages list, and on A2 what is assumed."""
    return by_product(listed(name, "inference"), listed(name, "A2").union(assumed), on_untold=on_untold)


@dataclass(frozen=True)
class Undocumented:
    """Changes to a good call that the engine accepts by default and refuses with TORCH_ACLNN_HOST_MODE=strict."""

    changes: Mapping[str, Any]
    parameter: str
    expected: str  # how the words behind "expected" begin in strict mode's message
    code: int = INVALID


def volumes_of_four_dimensions(good: Mapping[str, Any]) -> Undocumented:
    """Return the call without a batch in the format whose name has one."""
    tensors = tensors_of(good)
    changes = {name: {"shape": tensor.shape[1:], "values": None, "format": Format.NCDHW} for name, tensor in tensors.items()}
    return Undocumented(changes, next(iter(tensors)), "5 dimensions for format NCDHW")


@dataclass(frozen=True)
class EntryPoint:
    """The C interface of an operator.

    Attributes:
        name: without GetWorkspaceSize.
        good: a small call that meets the whole contract, with the parameters in the order of the C declaration; the last is the output.
        dtypes: what each product takes for all tensors at once but those of `fixed_dtypes`; nothing where it has no such operator.
        large: the same call with random tensors that are large enough for several threads.
        scalar_types: C types of scalars, where they are not those of the Python values.
        fixed_dtypes: tensors whose data types do not follow the others', and what each product takes for them.
        float64_extension: whether TORCH_ACLNN_HOST_MODE=float64 adds DOUBLE.
        shape_only: inputs of which only the shape is read.
        contiguous_output: whether the output must be contiguous.
        takes_empty: whether the document provides for tensors without elements.
        undocumented: by a name of the case.

    """

    name: str
    good: Mapping[str, Any]
    dtypes: DTypesByProduct
    large: Callable[[Any], Mapping[str, Any]]
    scalar_types: Mapping[str, Any] = field(default_factory=dict)
    fixed_dtypes: Mapping[str, DTypesByProduct] = field(default_factory=dict)
    float64_extension: bool = False
    shape_only: tuple[str, ...] = ("self",)
    contiguous_output: bool = False
    takes_empty: bool = False
    undocumented: Mapping[str, Undocumented] = field(default_factory=dict)

    @property
    def first(self) -> str:
        return next(iter(self.good))

    @property
    def output(self) -> str:
        return list(self.good)[-1]

    @property
    def parameters(self) -> tuple[str, ...]:
        return (*self.good, "workspaceSize", "executor")

    def argtypes(self) -> list[Any]:
        """Return the C types of phase 1."""
        return [self._argtype(name, value) for name, value in self.good.items()] + [c_void_p, c_void_p]

    def _argtype(self, name: str, value: Any) -> Any:
        if isinstance(value, (Tensor, tuple)):
            return c_void_p
        return self.scalar_types.get(name, c_bool if isinstance(value, bool) else c_int64)

    def without_elements(self) -> dict[str, Any]:
        """Return changes that make the call one of an empty batch; vectors of channels stay."""
        batches = {name: value for name, value in self.good.items() if isinstance(value, Tensor) and len(value.shape) > 1}
        return {name: {"shape": (0, *value.shape[1:]), "values": None} for name, value in batches.items()}

    def reads(self) -> list[str]:
        """Return the tensors whose elements are read."""
        return [n for n, v in self.good.items() if isinstance(v, Tensor) and n not in (*self.shape_only, self.output)]

    def free_dtypes(self) -> list[str]:
        """Return the tensors whose data types follow each other's."""
        return [n for n, v in self.good.items() if isinstance(v, Tensor) and n not in self.fixed_dtypes]
