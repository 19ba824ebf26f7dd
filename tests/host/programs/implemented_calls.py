"""Calls as C makes them, of Python functions: each type of a signature, refusals in both phases, and replacements."""

import ctypes

import torch_aclnn
import torch
import torch_npu

from direct import call, failure, fraction, refusal, scalar

INVALID, NULL, FAILED = 161002, 161001, 507015
implement = torch_aclnn.host.implement
opapi = ctypes.CDLL("libopapi.so")
got = {}


def handle(create, array):
    function = getattr(opapi, create)
    function.restype = ctypes.c_void_p
    return ctypes.c_void_p(function(array, ctypes.c_uint64(len(array))))


def keeping(name):
    def function(*arguments):
        got[name] = [argument.clone() if isinstance(argument, torch.Tensor) else argument for argument in arguments]

    return function


def npu(*values, dtype=torch.float32):
    return torch.tensor(values, dtype=dtype, device="npu")


# More of both classes than there are registers, each on its own place.
SIGNATURE = (
    "Tensor a, float b, float32 c, int d, int8 e, int16 f, int32 g, uint64 h, bool i, ScalarType j, str k, "
    "float l, float m, float n, float o, float32 p, float q, float r, Scalar s, Scalar? t, int[] u, float[] v, bool[2] w, int[]? x, "
    "Tensor[] y, Scalar[] z, str? aa, Tensor? ab, Tensor(a!)[] ac, Tensor(a!)? ad"
)
implement("aclnnTestOfTypes", SIGNATURE)(keeping("types"))
arguments = [
    npu(1, 2), 0.5, ctypes.c_float(1.5), -(1 << 40), ctypes.c_int8(-3), ctypes.c_int16(-300), ctypes.c_int32(-70000),
    ctypes.c_uint64(1 << 62),
    True, ctypes.c_int(27), b"text", 1.0, 2.0, 3.0, 4.0, ctypes.c_float(5.25), 6.0, 7.0, scalar(3), None, [1, -2],
    handle("aclCreateFloatArray", (ctypes.c_float * 2)(0.5, 2.0)), handle("aclCreateBoolArray", (ctypes.c_bool * 2)(True, False)), None,
    (npu(3), npu(4, 5)), handle("aclCreateScalarList", (ctypes.c_void_p * 2)(scalar(7), fraction(0.25))), None, None, (npu(6),), None,
]  # fmt: skip
call("aclnnTestOfTypes", *arguments)
types = got["types"]
assert types[0].tolist() == [1, 2] and [t.tolist() for t in types[24]] == [[3], [4, 5]] and types[28][0].tolist() == [6]
expected = [
    0.5,
    1.5,
    -(1 << 40),
    -3,
    -300,
    -70000,
    1 << 62,
    True,
    torch.bfloat16,
    "text",
    1,
    2,
    3,
    4,
    5.25,
    6,
    7,
    3,
    None,
    [1, -2],
    [0.5, 2.0],
    [True, False],
    None,
]
assert types[1:24] == expected, types[1:24]
assert types[25] == [7, 0.25] and types[26] is types[27] is types[29] is None
assert [type(types[i]) for i in (3, 8, 9)] == [int, bool, torch.dtype]

# Phase 1 tries the bodies of the engine's own entry points, and no function of the program.
tried = []
implement("aclnnTestOfTrials", "Tensor a, Tensor(a!) out")(lambda a, out: tried.append(a.tolist()))
call("aclnnTestOfTrials", npu(1), npu(2))
assert tried == [[1]], tried


# Views and empty tensors, which share memory.
@implement("aclnnTestOfViews", "Tensor self, Tensor(a!) out")
def of_views(self, out):
    assert not torch.is_grad_enabled() and self.device.type == out.device.type == torch.empty(0).device.type == "cpu"
    out.copy_(self + 1)


base, target = torch.arange(12.0, device="npu").view(3, 4), torch.zeros(4, 6, device="npu")
with torch.device("npu"):
    call("aclnnTestOfViews", base.t()[1:], target[1:, ::2])
assert torch.equal(target[1:, ::2].cpu(), base.cpu().t()[1:] + 1) and target[:, 1::2].eq(0).all()
call("aclnnTestOfViews", torch.empty(0, 3, device="npu"), torch.empty(0, 3, device="npu"))

# Refused in phase 1.
x, out = npu(1, 2), npu(0, 0)
assert refusal("aclnnTestOfViews", None, out) == (NULL, "aclnnTestOfViews: self: expected a value, got null")
code, message = refusal("aclnnTestOfViews", x, ctypes.c_void_p(64))
assert code == INVALID and "out: expected a live aclTensor, got 0x40, which has been destroyed or never was one: look" in message
code, message = refusal("aclnnTestOfViews", x, out, out)
assert code == INVALID and "the call has more parameters" in message, message
code, message = refusal("aclnnTestOfViews", x, out, 5)
assert code == INVALID and "workspaceSize: expected a place for the result behind the parameters of the signature, got 5" in message, (
    message
)
assert refusal("aclnnTestOfViews", x)[0] == INVALID
implement("aclnnTestOfDtypes", "Tensor self, Tensor(a!) out", dtypes=[torch.float16])(of_views)
code, message = refusal("aclnnTestOfDtypes", x, out)
assert code == INVALID and "self: expected a data type of FLOAT16 on " in message, message


# Refused by the function.
@implement("aclnnTestOfErrors", "int kind, Tensor(a!) out")
def of_errors(kind, out):
    if kind == 0:
        raise ValueError("not so")
    if kind == 1:
        return out
    if kind == 2:
        out.copy_(torch.ones(5))
    if kind == 3:
        raise SystemExit(0)
    if kind == 4:
        raise KeyboardInterrupt
    out.resize_(1 << 20)


FILE, LINE = of_errors.__code__.co_filename, of_errors.__code__.co_firstlineno
for kind, said in enumerate((
    f"ValueError: not so ({FILE}:{LINE + 3}, in of_errors)",
    "expected a function that writes its results and returns None, got one that returned Tensor",
    "RuntimeError: The size of tensor a (2) must match",
    f"SystemExit: 0 ({FILE}:{LINE + 9}, in of_errors)",
    "KeyboardInterrupt",
    "RuntimeError: ",
)):  # fmt: skip
    code, message = failure("aclnnTestOfErrors", kind, out)
    assert code == FAILED and f"aclnnTestOfErrors: {said}" in message, (kind, code, message)


# In the place of what is there: an adapter, a row, and an earlier function.
def filling(value):
    def function(*arguments):
        arguments[-1].fill_(value)

    return function


ADD = "Tensor self, Tensor other, Scalar alpha, Tensor(a!) out"


@implement("aclnnAdd", ADD, replace=True)
def add(self, other, alpha, out):
    out.fill_(alpha)


torch_aclnn.host.reset_calls()
for _ in range(2):
    call("aclnnAdd", x, x, scalar(2), out)
    assert out.tolist() == [2, 2] and (x + x).tolist() == [1, 1]
assert torch_aclnn.host.calls()["aclnnAdd"] == 4
implement("aclnnAdd", ADD, replace=True)(filling(9))
assert (x + x).tolist() == [9, 9]
implement("aclnnReplicationPad1dBackward", "Tensor grad, Tensor self, int[] padding, Tensor(a!) out", replace=True)(filling(8))
pad = torch.ones(1, 2, 3, device="npu", requires_grad=True)
torch_aclnn.functional.replication_pad1d(pad, (1, 1)).sum().backward()
assert pad.grad.eq(8).all()
implement("aclnnTestOfViews", "Tensor self, Tensor(a!) out", replace=True)(filling(7))
call("aclnnTestOfViews", x, out)
assert out.tolist() == [7, 7]
try:
    implement("aclnnTestOfViews", "Tensor self, Tensor(a!) out")(filling(0))
    raise SystemExit("a name was given twice")
except ValueError as error:
    assert "got one that is implemented already" in str(error)


# By name: inputs, attributes, outputs.
@implement("Iou", "Tensor boxes, Tensor others, Tensor(a!) overlap, str mode, float? eps, bool? aligned, int? no_attribute, float nowhere")
def nowhere(*arguments):
    raise AssertionError


boxes = torch.tensor([[0.0, 0, 2, 2], [0, 0, 4, 4]], device="npu")


def fails(message):
    try:
        torch_npu.npu_iou(boxes, boxes[:1])
        torch.npu.synchronize()
        raise SystemExit("not refused")
    except RuntimeError as error:
        assert message in str(error), error


fails("attribute nowhere: expected a float, got none")


@implement("Iou", "Tensor boxes, Tensor others, Tensor(a!) overlap, str mode, float? eps, bool? aligned, int? no_attribute", replace=True)
def iou(boxes, others, overlap, mode, eps, aligned, no_attribute):
    assert mode == "iou" and no_attribute is None
    got["iou"] = overlap.shape
    overlap.fill_(boxes[1, 2] - others[0, 2])


assert torch_npu.npu_iou(boxes, boxes[:1]).eq(2).all() and tuple(got["iou"]) in ((1, 2), (2, 1))
implement("Iou", "Tensor boxes, Tensor(a!) overlap", replace=True)(lambda boxes, overlap: None)
fails("inputs: expected the 1 of the signature, got 2")
implement("Iou", "Tensor[] boxes, Tensor(a!) overlap, Tensor(a!) more", replace=True)(lambda boxes, overlap, more: None)
fails("output 1: expected a tensor")
print("passed")
