"""The handles that describe the arguments of a call."""

import ctypes
import re
from ctypes import POINTER, byref, c_bool, c_float, c_int, c_int64, c_uint64, c_void_p

import pytest

from support.client import int64s
from support.contract_rows import in_turn
from support.dtypes import DType, Format
from support.operators import GOOD, ROWS
from support.status import NULL
from support.tensors import Tensor

AVG_POOL2D = ROWS["avg_pool2d"].entry_point.name
KINDS = ["Tensor", "Scalar", "IntArray", "FloatArray", "BoolArray", "TensorList", "ScalarList"]
ARRAYS = {"IntArray": c_int64, "FloatArray": c_float, "BoolArray": c_bool}
DIM_GETTERS = ["aclGetViewShape", "aclGetStorageShape", "aclGetViewStrides"]
NUMBER_GETTERS = {"aclGetViewOffset": c_int64, "aclGetFormat": c_int, "aclGetDataType": c_int}
SIZE_GETTERS = [f"aclGet{kind}Size" for kind in ("IntArray", "FloatArray", "BoolArray", "TensorList", "ScalarList")]


@pytest.fixture
def free(aclnn):
    """Return C++'s `delete[]`, with which a caller frees what the getters of dimensions return."""
    function = ctypes.CDLL("libstdc++.so.6")._ZdaPv
    function.argtypes, function.restype = [c_void_p], None
    return function


@pytest.fixture
def dims_of(aclnn, free):
    def get(name, handle):
        values, count = POINTER(c_int64)(), c_uint64()
        assert getattr(aclnn.opapi, name)(handle, byref(values), byref(count)) == 0, aclnn.message()
        result = tuple(values[i] for i in range(count.value))
        free(values)
        return result

    return get


def number_of(aclnn, name, handle):
    result = NUMBER_GETTERS.get(name, c_uint64)()
    assert getattr(aclnn.opapi, name)(handle, byref(result)) == 0, aclnn.message()
    return result.value


@pytest.mark.parametrize("kind", [*KINDS, "AclOpExecutor"])
def test_null_may_be_destroyed(aclnn, kind):
    assert getattr(aclnn.opapi, f"aclDestroy{kind}")(None) == 0


@pytest.mark.parametrize(("dtype", "format"), in_turn(list(DType), list(Format)), ids=lambda value: value.name)
def test_tensor_tells_what_it_was_made_of(aclnn, dims_of, dtype, format):
    tensor = Tensor((2, 0, 3), dtype, strides=(7, -5, 1), offset=4, format=format)
    handle = aclnn.tensor(tensor, (11, 13), None)
    assert [dims_of(name, handle) for name in DIM_GETTERS] == [(2, 0, 3), (11, 13), (7, -5, 1)]
    assert [number_of(aclnn, name, handle) for name in NUMBER_GETTERS] == [4, format, dtype]
    aclnn.destroy("Tensor", handle)


@pytest.mark.parametrize(("shape", "strides"), [
    ((), ()), ((5,), (1,)), ((2, 3, 4), (12, 4, 1)), ((2, 1, 4), (4, 4, 1)), ((1,) * 16, (1,) * 16),
], ids=str)  # fmt: skip
def test_null_strides_mean_contiguous(aclnn, dims_of, shape, strides):
    handle = aclnn.tensor(Tensor(shape), (100,), None)
    assert dims_of("aclGetViewShape", handle) == shape
    assert dims_of("aclGetViewStrides", handle) == strides
    aclnn.destroy("Tensor", handle)


def test_tensor_copies_its_dimensions(aclnn, dims_of):
    shape, strides, storage = int64s((2, 3)), int64s((30, 10)), int64s((60,))
    handle = aclnn.opapi.aclCreateTensor(shape, 2, 0, strides, 0, 2, storage, 1, None)
    for array in (shape, strides, storage):
        ctypes.memset(array, 0xFF, ctypes.sizeof(array))
    assert [dims_of(name, handle) for name in DIM_GETTERS] == [(2, 3), (60,), (30, 10)]
    aclnn.destroy("Tensor", handle)


def test_getters_of_dimensions_return_copies(aclnn, dims_of, free):
    handle = aclnn.tensor(Tensor((2, 3)), (6,), None)
    values, count = POINTER(c_int64)(), c_uint64()
    assert aclnn.opapi.aclGetViewShape(handle, byref(values), byref(count)) == 0
    values[0] = 99
    free(values)
    assert dims_of("aclGetViewShape", handle) == (2, 3)
    aclnn.destroy("Tensor", handle)


def test_int_array_copies_its_values(aclnn):
    source = int64s((2, 2))
    array = aclnn.opapi.aclCreateIntArray(source, 2)
    source[0] = source[1] = -1
    arguments = GOOD[AVG_POOL2D] | {"kernelSize": None, "stride": None}
    with aclnn.call(AVG_POOL2D, arguments) as call:
        call.arguments["kernelSize"] = array
        assert call.phase1() == 0, aclnn.message()
    aclnn.destroy("IntArray", array)


@pytest.mark.parametrize("kind", ARRAYS)
@pytest.mark.parametrize("size", [0, 1, 3])
def test_array_tells_its_size(aclnn, kind, size):
    handle = getattr(aclnn.opapi, f"aclCreate{kind}")((ARRAYS[kind] * size)(), size)
    assert number_of(aclnn, f"aclGet{kind}Size", handle) == size
    aclnn.destroy(kind, handle)


@pytest.mark.parametrize("kind", ["IntArray", "FloatArray", "BoolArray", "TensorList", "ScalarList"])
def test_empty_array_may_have_no_values(aclnn, kind):
    handle = getattr(aclnn.opapi, f"aclCreate{kind}")(None, 0)
    assert number_of(aclnn, f"aclGet{kind}Size", handle) == 0
    aclnn.destroy(kind, handle)


@pytest.mark.parametrize("size", [0, 1, 3])
def test_list_of_tensors_tells_its_size_and_goes_with_its_members(aclnn, size):
    members = (c_void_p * size)(*(aclnn.tensor(Tensor((2,)), (2,), None) for _ in range(size)))
    handle = aclnn.opapi.aclCreateTensorList(members, size)
    assert number_of(aclnn, "aclGetTensorListSize", handle) == size
    aclnn.destroy("TensorList", handle)


@pytest.mark.parametrize("size", [0, 1, 3])
def test_list_of_scalars_tells_its_size_and_goes_with_its_members(aclnn, size):
    members = (c_void_p * size)(*(aclnn.opapi.aclCreateScalar(byref(c_float(1)), 0) for _ in range(size)))
    assert all(members)
    handle = aclnn.opapi.aclCreateScalarList(members, size)
    assert number_of(aclnn, "aclGetScalarListSize", handle) == size
    aclnn.destroy("ScalarList", handle)


@pytest.mark.parametrize("dtype", DType, ids=lambda dtype: dtype.name)
def test_scalar_of_every_dtype(aclnn, dtype):
    handle = aclnn.opapi.aclCreateScalar(ctypes.create_string_buffer(16), dtype)
    assert handle is not None, aclnn.message()
    aclnn.destroy("Scalar", handle)


TENSOR, OTHERS = "aclCreateTensor", [*ARRAYS, "TensorList", "ScalarList"]
TOO_MANY = int64s((1,) * 17)
MISTAKES = {
    "tensor of 17 dimensions": (TENSOR, (TOO_MANY, 17, 0, None, 0, 2, None, 0, None), "at most 16, got 17"),
    "storage of 17 dimensions": (TENSOR, (None, 0, 0, None, 0, 2, TOO_MANY, 17, None), "at most 16, got 0 and 17"),
    "tensor without shape": (TENSOR, (None, 2, 0, None, 0, 2, int64s((6,)), 1, None), "viewDims.*got null"),
    "tensor without storage": (TENSOR, (int64s((6,)), 1, 0, None, 0, 2, None, 1, None), "storageDims.*got null"),
    "scalar without value": ("aclCreateScalar", (None, 0), "value: .*got null"),
    "scalar of no type": ("aclCreateScalar", (TOO_MANY, -1), r"dataType: .*got aclDataType\(-1\)"),
    **{f"{kind} without values": (f"aclCreate{kind}", (None, 3), "value: .* of 3, got null") for kind in OTHERS},
}


def test_array_beyond_all_memory_gives_a_null_handle_and_a_message(aclnn):
    for kind in OTHERS:
        function = getattr(aclnn.opapi, f"aclCreate{kind}")
        for size in (2**48, 2**62, 2**64 - 1):
            assert function(TOO_MANY, size) is None
            assert aclnn.message() == f"aclCreate{kind}: size: expected at most 1048576, got {size}"


@pytest.mark.parametrize(("function", "arguments", "words"), MISTAKES.values(), ids=MISTAKES.keys())
def test_mistake_gives_a_null_handle_and_a_message(aclnn, function, arguments, words):
    assert getattr(aclnn.opapi, function)(*arguments) is None
    message = aclnn.message()
    assert message.startswith(f"{function}: ")
    assert re.search(words, message), message


@pytest.fixture
def handles(aclnn):
    """One live handle of each kind."""
    made = {
        "Tensor": aclnn.tensor(Tensor((2, 3)), (6,), None),
        **{kind: getattr(aclnn.opapi, f"aclCreate{kind}")(None, 0) for kind in (*ARRAYS, "TensorList", "ScalarList")},
    }
    yield made
    for kind, handle in made.items():
        aclnn.destroy(kind, handle)


@pytest.mark.parametrize("null", [0, 1, 2])
@pytest.mark.parametrize("name", DIM_GETTERS)
def test_getter_of_dimensions_refuses_null(aclnn, handles, name, null):
    arguments = [handles["Tensor"], byref(POINTER(c_int64)()), byref(c_uint64())]
    arguments[null] = None
    assert getattr(aclnn.opapi, name)(*arguments) == NULL
    assert re.fullmatch(rf"{name}: \w+: expected a value, got null", aclnn.message())


@pytest.mark.parametrize("null", [0, 1])
@pytest.mark.parametrize("name", [*NUMBER_GETTERS, *SIZE_GETTERS])
def test_getter_of_a_number_refuses_null(aclnn, handles, name, null):
    kind = name.removeprefix("aclGet").removesuffix("Size") if name in SIZE_GETTERS else "Tensor"
    arguments = [handles[kind], byref(NUMBER_GETTERS.get(name, c_uint64)())]
    arguments[null] = None
    assert getattr(aclnn.opapi, name)(*arguments) == NULL
    assert re.fullmatch(rf"{name}: \w+: expected a value, got null", aclnn.message())


def test_start_and_end_of_the_operators(aclnn):
    assert aclnn.opapi.aclnnInit(None) == 0
    assert aclnn.opapi.aclnnFinalize() == 0
