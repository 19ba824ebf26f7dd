"""Calls of operators by name that are wrong: an error that names what was wrong, and never a crash."""

from ctypes import c_void_p

import pytest
import torch
from torch_aclnn.host.registry import named_operators

from support.dtypes import DType
from support.named_operators import Argument, NamedCall, Stored, int64s, refuses, run

INVALID_PARAM = 100000

FUNCTIONS = ("aclopCompileAndExecute", "aclopCompileAndExecuteV2")
X = torch.ones(2, 3)
WHOLE = torch.ones(3, dtype=torch.int32)
QUOTIENTS = ("FloorDiv", "FloorMod", "Mod")
VOLUME = {"ksize": [1, 1, 2, 2, 2], "strides": [1, 1, 2, 2, 2], "padding": "CALCULATED", "pads": [0, 0, 0, 0, 0, 1]}


def numbers(*values):
    return Stored(torch.tensor(values, dtype=torch.int64), on_host=True)


def refuses_at_once(acl, words, function, *arguments):
    acl.refuses(INVALID_PARAM, words, function, *arguments, None, 0, 0, None, None)
    assert acl.aclrtSynchronizeStream(None) == 0


@pytest.mark.parametrize("function", FUNCTIONS)
def test_arrays_that_are_not_there(acl, function):
    given = Argument(acl, X)
    desc, buffer, null = (c_void_p * 1)(given.desc), (c_void_p * 1)(given.buffer), (c_void_p * 1)(None)
    good = (1, desc, buffer)
    for place, name in (((0, 1), "input"), ((1, 0), "output")):
        for bad, words in (
            ((1, None, buffer), f"{name}Desc: expected a value, got null"),
            ((1, desc, None), f"{name}s: expected a value, got null"),
            ((1, null, buffer), f"{name} 0: expected a value, got null"),
            ((1, desc, null), f"{name} 0: expected a value, got null"),
            ((-1, desc, buffer), f"the number of {name}s: expected at least 0, got -1"),
        ):
            sides = (bad, good) if place == (0, 1) else (good, bad)
            refuses_at_once(acl, words, function, b"Identity", *sides[0], *sides[1])
    given.free()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda acl, a: acl.aclSetTensorShape(a.desc, 2, int64s([3, 3])), "a buffer of 36 bytes, got 24"),
        (lambda acl, a: acl.aclSetTensorShape(a.desc, 2, int64s([-1, 3])), "no negative dimension, got -1"),
        (lambda acl, a: acl.aclSetTensorShape(a.desc, 2, int64s([1 << 40, 1 << 40])), "a number of bytes that can be counted"),
    ],
)
def test_memory_that_is_too_small(acl, change, words):
    for side in ("inputs", "outputs"):
        with NamedCall(acl, "Identity", [X], [torch.zeros(2, 3)]) as call:
            assert change(acl, getattr(call, side)[0]) == 0
            assert call.execute() == INVALID_PARAM
            message = acl.message()
            assert f"{side[:-1]} 0: expected {words}" in message, message


def test_memory_that_is_not_the_devices(acl):
    for inputs, outputs, words in (
        ([Stored(X)], [torch.zeros(2, 3)], "input 0: expected device memory"),
        ([X], [Stored(torch.zeros(2, 3))], "output 0: expected device memory"),
    ):
        with NamedCall(acl, "Identity", inputs, outputs) as call:
            argument = (call.inputs if "input" in words else call.outputs)[0]
            acl.aclDestroyDataBuffer(argument.buffer)
            argument.buffer = acl.aclCreateDataBuffer(0x1000, 24)
            assert call.execute() == INVALID_PARAM
            assert words in acl.message()


def test_an_allocation_that_is_shorter_than_its_buffer_says(acl):
    with NamedCall(acl, "Identity", [X], [torch.zeros(2, 3)]) as call:
        argument = call.outputs[0]
        acl.aclDestroyDataBuffer(argument.buffer)
        argument.buffer = acl.aclCreateDataBuffer(argument._block, 1 << 40)
        acl.aclSetTensorShape(argument.desc, 2, int64s([1 << 20, 1 << 18]))
        assert call.execute() == INVALID_PARAM
        assert "output 0: expected device memory of" in acl.message()


@pytest.mark.parametrize(
    ("words", "name", "inputs", "outputs", "attributes"),
    [
        ("input 0: expected a tensor, got a call with 0 inputs", "Identity", [], [X], {}),
        ("input 0: expected a tensor, got none", "Identity", [None], [X], {}),
        ("output 0: expected a tensor, got a call with 0 outputs", "Identity", [X], [], {}),
        ("output 0: expected the result's shape [2, 3]", "Identity", [X], [torch.zeros(3, 2)], {}),
        ("attribute axes: expected a list of integers, got an integer", "SoftmaxV2", [X], [X], {"axes": 1}),
        ("attribute axes: expected one dimension", "SoftmaxV2", [X], [X], {"axes": [0, 1]}),
        ("axes: expected a dimension in -2..1, got 2", "SoftmaxV2", [X], [X], {"axes": [2]}),
        ("attribute p: expected a float, got none", "LpNormReduceV2", [X], [X], {"axes": [1]}),
        ("attribute p: expected a float, got an integer", "Cdist", [X, X], [X[0]], {"p": 2}),
        ("attribute p: expected an order of at least 0", "Cdist", [X, X], [X[0]], {"p": -2.0}),
        ("attribute concat_dim: expected an integer, got none", "ConcatD", [X, X], [X], {}),
        ("attribute shape: expected a list of integers, got none", "ConfusionTransposeD", [X], [X], {"perm": [1, 0]}),
        ("input 1: expected 2 values", "Slice", [X, numbers(0), numbers(1)], [X], {}),
        ("the view: expected a view within 6 elements", "AsStrided", [X, numbers(2, 3), numbers(3, 2), numbers(0)], [X], {}),
        ("the view: expected a view within 6 elements", "AsStrided", [X, numbers(1 << 62, 3), numbers(1 << 62, 2), numbers(0)], [X], {}),
        ("input 3: expected one element, got shape [2]", "AsStrided", [X, numbers(1), numbers(1), numbers(0, 1)], [X], {}),
        ("input 1: expected at least 1 elements", "DropOutDoMask", [X, torch.zeros(0, dtype=torch.uint8), numbers(1)], [X], {}),
        (
            "gate_order: expected ijfo or ifjo or ifco, got oifj",
            "DynamicRNN",
            [X[None], torch.ones(5, 8), torch.ones(8), None, X, X],
            [X],
            {"gate_order": "oifj"},
        ),
        ("input 0: expected {steps, batch, features}", "DynamicRNN", [X, torch.ones(5, 8), torch.ones(8)], [X], {"gate_order": "ifjo"}),
        ("activation: expected tanh, got relu", "DynamicGRUV2", [X[None]] * 7, [X], {"activation": "relu"}),
        ("a matrix, got shape [3]", "MatMul", [X[0], X], [X], {}),
        ("use_peephole: expected a bool, got an integer", "DynamicGRUV2", [X[None]] * 7, [X], {"use_peephole": 1}),
        *(("input 1: expected values other than 0, got 0 at position [0]", name, [WHOLE, WHOLE * 0], [WHOLE], {}) for name in QUOTIENTS),
        ("attribute reduction: expected none, mean or sum, got max", "NLLLoss", [X, X, X], [X, X], {"reduction": "max"}),
        ("attribute mode: expected constant, edge or reflect, got wrap", "PadV3", [X, numbers(0, 0, 0, 0)], [X], {"mode": "wrap"}),
        ("attribute mode: expected REFLECT, got SYMMETRIC", "MirrorPad", [X, numbers(0, 0, 0, 0)], [X], {"mode": "SYMMETRIC"}),
        ("attribute padding_mode: expected CALCULATED, got SAME", "AvgPoolV2", [X], [X], {"padding_mode": "SAME"}),
        (
            "attribute data_format: expected NCDHW, got NDHWC",
            "AvgPool3D",
            [X],
            [X],
            {"ksize": [1] * 3, "strides": [1] * 3, "data_format": "NDHWC"},
        ),
        (
            "attribute pads: expected 2 at the end of dimension 4",
            "MaxPool3D",
            [torch.ones(1, 1, 4, 4, 4)],
            [torch.ones(1, 1, 2, 2, 3)],
            VOLUME,
        ),
    ],
)
def test_a_wrong_call_fails_on_the_stream_by_its_name(acl, words, name, inputs, outputs, attributes):
    refuses(acl, words, name, inputs, outputs, **attributes)


@pytest.mark.parametrize(
    ("name", "inputs"),
    [("Add", [X, torch.ones(4)]), ("MatMul", [X, X]), ("Transpose", [X, numbers(0, 0)]), ("Slice", [X, numbers(1, 0), numbers(5, 5)])],
)
def test_what_aten_refuses_has_the_operators_name(acl, name, inputs):
    refuses(acl, "", name, inputs, [torch.zeros(2, 3)])


def test_every_operator_survives_a_call_without_anything(acl):
    names = named_operators()
    assert len(names) > 100
    for name in names:
        for tensors in ([], [None] * 25, [torch.zeros(0)] * 25, [torch.ones(2, 3)] * 25, [numbers(-1, 1 << 62)] * 25):
            with NamedCall(acl, name, tensors, [torch.zeros(2, 3)] * 8) as call:
                assert call.execute() == 0
                acl.aclrtSynchronizeStream(None)
                acl.aclGetRecentErrMsg()


def test_host_memory_is_the_callers_again_after_the_call(acl):
    with NamedCall(acl, "Fill", [numbers(3), Stored(torch.tensor([7.0]), on_host=True)], [torch.zeros(3)]) as call:
        assert call.execute() == 0
        call.inputs[1].host.raw = bytes(4)
        assert acl.aclrtSynchronizeStream(None) == 0
        assert call.outputs[0].content().tolist() == [7.0] * 3


def test_the_second_version_tells_the_size_of_a_result(acl):
    mask = torch.tensor([True, False, True, True])
    place = torch.zeros(4, 1, dtype=torch.int64)
    (got,) = run(acl, "NonZero", [mask], [place], function_name="aclopCompileAndExecuteV2")
    assert got.tolist() == [[0], [2], [3]]


def test_attributes_that_are_wrong(acl):
    attributes = acl.aclopCreateAttr()
    acl.refuses(INVALID_PARAM, "attr: expected a value, got null", "aclopSetAttrInt", None, b"axis", 1)
    acl.refuses(INVALID_PARAM, "attrName: expected a value, got null", "aclopSetAttrInt", attributes, None, 1)
    acl.refuses(INVALID_PARAM, "attrValue: expected a value, got null", "aclopSetAttrString", attributes, b"mode", None)
    for name in ("aclopSetAttrListInt", "aclopSetAttrListFloat"):
        acl.refuses(INVALID_PARAM, "values: expected a value, got null", name, attributes, b"axes", 2, None)
        acl.refuses(INVALID_PARAM, "numValues: expected at least 0, got -1", name, attributes, b"axes", -1, None)
        assert getattr(acl, name)(attributes, b"axes", 0, None) == 0
    acl.aclopDestroyAttr(attributes)


def test_a_data_type_is_kept(acl):
    with NamedCall(acl, "Cast", [X], [torch.zeros(2, 3, dtype=torch.float16)], {"dst_type": DType.FLOAT16}) as call:
        assert call.execute() == 0
        assert call.outputs[0].content().dtype == torch.float16
