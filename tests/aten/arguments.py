"""Sound and wrong arguments for each kind of parameter of csrc/engine/aten, for phase 1 alone.

A value is a ctypes number or text, None, or one of the classes here, of which Handles makes the C interface's objects.
"""

import ctypes
import itertools
import math
import re
import struct
from ctypes import c_bool, c_char_p, c_double, c_float, c_int, c_int8, c_int32, c_int64, c_uint64, c_void_p
from dataclasses import dataclass
from typing import Any

from support.client import Client
from support.dtypes import DType, Format
from support.marks import CUBE_MATH_TYPE
from support.tensors import Tensor

NOT_OF_ATEN = 33  # a data type of CANN that ATen's kernels lack
LOWEST = -(1 << 63)
ROOM = 16 << 10  # bytes of memory for a tensor
COMMUNICATOR = b"one rank"  # the name of a communicator with this process alone


@dataclass(frozen=True)
class TensorList:
    members: tuple[Tensor | None, ...]


@dataclass(frozen=True)
class Scalar:
    dtype: int = DType.FLOAT
    bytes: bytes = bytes(16)


@dataclass(frozen=True)
class ScalarList:
    members: tuple[Scalar, ...]


@dataclass(frozen=True)
class IntArray:
    values: tuple[int, ...]


@dataclass(frozen=True)
class BoolArray:
    values: tuple[bool, ...]


@dataclass(frozen=True)
class Kind:
    sound: Any
    wrong: tuple[Any, ...] = ()  # empty if any value of the type has a meaning


TENSOR = Tensor((2, 2))
BYTES = Tensor((2, 2), DType.INT8)
BLOCKS = BYTES.but(format=Format.FRACTAL_NZ, storage=(1, 1, 16, 8))
FLOAT8_E4M3FN, FLOAT8_E8M0, FLOAT4_E2M1 = 36, 37, 40
OF_FEW_BITS = {"HIFLOAT8": 34, "FLOAT8_E4M3FN": FLOAT8_E4M3FN, "FLOAT8_E8M0": FLOAT8_E8M0, "FLOAT4_E2M1": FLOAT4_E2M1}
FEW_BITS = Tensor((2, 2), FLOAT8_E4M3FN)  # a type that the 950 alone has
TOO_MANY = IntArray((-1,) * 17)
_SCALAR = Kind(Scalar(), (Scalar(DType.UINT32),))


def number_of(dtype: str) -> int:
    """Return the number of a data type, by its name."""
    return OF_FEW_BITS.get(dtype) or DType[dtype]


def number(value: float) -> Scalar:
    """Return a scalar of FLOAT."""
    return Scalar(DType.FLOAT, struct.pack("<f12x", value))


KINDS = {
    **dict.fromkeys(("In", "Out", "InOut", "OptIn", "OptOut", "Packed", "AnyFormat", "AnyFormatOut", "MatmulWeight"), Kind(TENSOR)),
    **dict.fromkeys(("Tensors", "OptTensors", "TensorsOut", "TensorsInOut", "OptTensorsOut", "Packables"), Kind(TensorList((TENSOR,)))),
    **dict.fromkeys(("Packable", "PackableOut", "OptPackable", "OptPackableOut"), Kind(BYTES)),
    "Number": Kind(Tensor((1,), DType.INT64), (Tensor((2,), DType.INT64), Tensor((1,)))),
    "InBlocks": Kind(BLOCKS),
    "InBlocksOut": Kind(BLOCKS.but(dtype=FLOAT4_E2M1, storage=(1, 1, 16, 32))),
    **dict.fromkeys(("FewBits", "FewBitsOut"), Kind(FEW_BITS)),
    "WorkerContextRef": Kind(Tensor((1024,), DType.INT8), (Tensor((1023,), DType.INT8),)),
    **dict.fromkeys(("Scalar", "OptScalar"), _SCALAR),
    "Scalars": Kind(ScalarList((Scalar(),)), (ScalarList((Scalar(DType.UINT32),)),)),
    "RoundMode": Kind(Scalar(DType.INT64, (3).to_bytes(16, "little")), (*_SCALAR.wrong, Scalar(DType.INT64, (4).to_bytes(16, "little")))),
    "NotNegativeScalar": Kind(number(0), (*_SCALAR.wrong, number(-1), number(math.nan))),
    "NonzeroScalar": Kind(number(-1), (*_SCALAR.wrong, number(0))),
    **dict.fromkeys(("Ints", "OptInts"), Kind(IntArray((2,)), (TOO_MANY,))),
    "Shape": Kind(IntArray((2, 2)), (TOO_MANY, IntArray((-1,)), IntArray((1,) * 9))),
    **dict.fromkeys(("Dims", "OptDims"), Kind(IntArray((0,)), (IntArray((2,)), IntArray((-3,)), IntArray((1, -1))))),
    "GridSize": Kind(IntArray((1,) * 4), (IntArray((1,) * 3),)),
    "Cycles": Kind(IntArray((0,)), (IntArray((-1,)), IntArray((0, 0)), IntArray((10**10 + 1,)))),
    "OptBools": Kind(BoolArray((True,)), (BoolArray((True,) * 17),)),
    "DType": Kind(c_int(DType.FLOAT), (c_int(-1), c_int(NOT_OF_ATEN), c_int(1000))),
    "QuantisedDType": Kind(c_int(DType.INT8), (c_int(DType.FLOAT), c_int(-1))),
    "MatmulType": Kind(c_int(FLOAT8_E4M3FN), (c_int(DType.FLOAT), c_int(-1))),
    "MatmulScaleType": Kind(c_int(FLOAT8_E8M0), (c_int(DType.FLOAT), c_int(-1))),
    "QuantisedNumber": Kind(c_int64(DType.INT8), (c_int64(DType.FLOAT), c_int64(-1))),
    "FewBitNumber": Kind(c_int64(FLOAT8_E4M3FN), (c_int64(DType.FLOAT), c_int64(-1))),
    "Bool": Kind(c_bool(False)),
    "Double": Kind(c_double(0.5)),
    "Float": Kind(c_float(0.5)),
    "Int": Kind(c_int64(1), (c_int64(LOWEST),)),
    "Position": Kind(c_int64(1)),
    "Sections": Kind(c_uint64(2), (c_uint64(0),)),
    "Dim": Kind(c_int64(-1), (c_int64(2), c_int64(-3), c_int64(LOWEST))),
    "NotNegative": Kind(c_int64(1), (c_int64(-1),)),
    "Positive": Kind(c_int64(1), (c_int64(0), c_int64(-1))),
    "NoDistance": Kind(c_int64((1 << 63) - 1)),
    "Rounding": Kind(c_int32(0), (c_int32(-1), c_int32(3))),
    "ScatterMode": Kind(c_int64(0), (c_int64(-1), c_int64(3))),
    "Reduce": Kind(c_int64(1), (c_int64(0), c_int64(6))),
    "GeluMode": Kind(c_int64(0), (c_int64(-1), c_int64(2))),
    "CausalMode": Kind(c_int64(0), (c_int64(-1), c_int64(1), c_int64(4))),
    "OptText": Kind(c_char_p(b"")),
    "CommGroup": Kind(c_char_p(COMMUNICATOR), (c_char_p(b"unknown"), c_char_p(b""))),
}
# The types of numbers that a record restricts to some values.
NUMBERS = {"Int": c_int64, "Int32": c_int32, "Int8": c_int8, "CInt": c_int, "Double": c_double, "Float": c_float}


# Arrays of a number of values: the sound value of each, whether none is sound too, and a value that is not.
COUNTED = {
    "Exactly": (1, False, None),
    "Sizes": (1, False, -1),
    "PositiveSizes": (1, False, 0),
    "Steps": (1, False, 0),
    "OptSteps": (1, True, 0),
    "Pads": (0, False, -1),
}


def kind(name: str) -> Kind:
    """Return the sound value of a kind and wrong ones; those of Steps<2>, or of Int in 0..2, follow from the numbers."""
    name, _, values = name.partition(" in ")
    if values:
        return _restricted(name, values)
    counted = re.fullmatch(r"(\w+)<(\d+)>", name)
    if counted is None:
        return KINDS[name]
    count = int(counted[2])
    if counted[1] == "MaskOf":
        return Kind(BoolArray((True,) * count), (BoolArray((True,) * (count + 1)), BoolArray(())))
    sound, may_be_empty, wrong = COUNTED[counted[1]]
    arrays = [(sound,) * (count + 1)] + [()] * (not may_be_empty) + [(wrong,) * count] * (wrong is not None)
    return Kind(IntArray((sound,) * count), tuple(map(IntArray, arrays)))


def _restricted(name: str, values: str) -> Kind:
    lowest, dots, highest = values.partition("..")
    if name == "Bool":
        return Kind(c_bool(values == "true"), (c_bool(values != "true"),))
    if name in ("Double", "Float"):
        number, bounds = NUMBERS[name], [int(bound) for bound in (lowest, highest) if bound]
        outside = (bounds[0] - 0.5, *(bound + 0.5 for bound in bounds[1:]), math.nan)
        return Kind(number(0.5 if lowest != highest else bounds[0]), tuple(map(number, outside)))
    if dots:
        number = NUMBERS[name]
        sound = CUBE_MATH_TYPE if number is c_int8 else max(int(lowest), -1)
        return Kind(number(sound), (number(int(lowest) - 1), *((number(int(highest) + 1),) if highest and number is c_int64 else ())))
    choices = [choice.strip('"') for choice in values.split("|")]
    if name in NUMBERS:
        numbers = sorted(map(int, choices))
        return Kind(NUMBERS[name](int(choices[0])), (NUMBERS[name](numbers[0] - 1), NUMBERS[name](numbers[-1] + 1)))
    return Kind(c_char_p(choices[0].encode()), tuple(c_char_p(text) for text in (b"no such", b"") if text.decode() not in choices))


class Handles:
    """The C interface's objects, each made once for each place that it has among the equal ones of a call.

    Args:
        client: what makes them.
        address: device memory for ``room`` tensors of ROOM bytes; more of them share it.
        room: how many.

    """

    def __init__(self, client: Client, address: int, room: int = 1) -> None:
        self._client = client
        self._addresses = itertools.cycle(address + ROOM * i for i in range(room))
        self._made: dict[tuple[Any, int], int] = {}

    def of(self, value: Any, place: int = 0) -> Any:
        """Return the argument for a value."""
        if value is None or isinstance(value, ctypes._SimpleCData):
            return value
        if (value, place) not in self._made:
            self._made[value, place] = self.make(value)
        return c_void_p(self._made[value, place])

    def of_call(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Return the arguments of a call; equal tensors have memory of their own."""
        values = list(arguments.values())
        return {name: self.of(value, values[:i].count(value)) for i, (name, value) in enumerate(arguments.items())}

    def make(self, value: Any) -> Any:
        """Return a new handle, which is the caller's."""
        if value is None:
            return None
        opapi = self._client.opapi
        if isinstance(value, Tensor):
            return self._client.tensor(value, value.storage or value.shape, value.address or next(self._addresses))
        if isinstance(value, Scalar):
            return opapi.aclCreateScalar(value.bytes, value.dtype)
        if isinstance(value, IntArray):
            return self._client.int_array(value.values)
        if isinstance(value, BoolArray):
            return opapi.aclCreateBoolArray((c_bool * len(value.values))(*value.values), len(value.values))
        members = (c_void_p * len(value.members))(*(self.make(member) for member in value.members))  # the list takes them over
        create = opapi.aclCreateTensorList if isinstance(value, TensorList) else opapi.aclCreateScalarList
        return create(members, len(value.members))

    def destroy(self) -> None:
        for (value, _), handle in self._made.items():
            self._client.destroy(type(value).__name__, handle)
