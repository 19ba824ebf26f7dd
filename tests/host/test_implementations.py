"""Functions of a program in the place of entry points and operators that the engine does not have: torch_aclnn.host.implement."""

import re
import sys
from pathlib import Path

import torch_aclnn
import pytest
import torch
from torch_aclnn.host import includedir
from torch_aclnn.loading.missing_entry_points import explain, lines

from support.compiler import shared_library
from support.marks import host_engine_only
from support.subprocesses import output_of, run_python

pytestmark = host_engine_only
PROGRAMS = Path(__file__).parent / "programs"
MODES = (
    {"TASK_QUEUE_ENABLE": "0"},
    {"TASK_QUEUE_ENABLE": "1"},
    {"TASK_QUEUE_ENABLE": "2"},
    {"TASK_QUEUE_ENABLE": "2", "TORCH_ACLNN_HOST_ASYNC": "1"},
    {"TORCH_ACLNN_HOST_UNSPECIFIED": "1", "TORCH_ACLNN_HOST_ISOLATE": "1"},
)


def run_program(name, **environment):
    calls_from_c = f"import sys; sys.path.append({str(PROGRAMS.parents[1] / 'aten')!r})\n"
    return output_of(calls_from_c + (PROGRAMS / name).read_text(), **environment)


@pytest.mark.parametrize("environment", MODES, ids=lambda environment: ",".join(environment.values()))
def test_torch_npus_own_functions_compute_on_python_functions(environment):
    assert run_program("implemented_functions.py", **environment) == "passed"


def test_each_type_arrives_and_each_slip_is_refused():
    assert run_program("implemented_calls.py") == "passed"


ENDS = """
import threading, time, torch, torch_aclnn, torch_npu
@torch_aclnn.host.implement("aclnnGeluMul", "Tensor input, str approximate, Tensor(a!) out", replace=True)
def gelu_mul(input, approximate, out):
    time.sleep(0.01)
    out.copy_(input[..., : out.size(-1)])
    print("computed")
x = torch.ones(2, 4, device="npu")
"""


@pytest.mark.parametrize(
    ("code", "computed"),
    [
        ("for _ in range(8): torch_npu.npu_gelu_mul(x)", 8),
        ("for _ in range(8): torch_npu.npu_gelu_mul(x)\ntorch.npu.empty_cache()", 8),
        (
            "import os\nif (child := os.fork()) == 0: raise SystemExit(3)\n"
            "assert os.waitpid(child, 0)[1] == 3 << 8\ntorch_npu.npu_gelu_mul(x)",
            1,
        ),
        (
            "threads = [threading.Thread(target=lambda: [torch_npu.npu_gelu_mul(x) for _ in range(4)]) for _ in range(4)]\n"
            "for thread in threads: thread.start()\nfor thread in threads: thread.join()",
            16,
        ),
        (
            "def later():\n    time.sleep(0.5)\n    while True: torch_npu.npu_gelu_mul(x)\n"
            "threading.Thread(target=later, daemon=True).start()\nprint('computed')",
            1,
        ),
    ],
    ids=["queued work", "empty_cache", "fork", "threads", "a thread that goes on"],
)
@pytest.mark.parametrize("asynchronous", ["0", "1"])
def test_work_that_is_queued_ends_before_the_interpreter(code, computed, asynchronous):
    done = run_python(ENDS + code, TORCH_ACLNN_HOST_ASYNC=asynchronous)
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.split() == ["computed"] * computed


@pytest.mark.parametrize(
    ("name", "signature", "message"),
    [
        ("aclnn X", "Tensor(a!) out", "name: expected the name of an entry point"),
        ("aclnnX", "", "signature: expected a parameter that is written, as Tensor(a!) out"),
        ("aclnnX", "Tensor self", "signature: expected a parameter that is written"),
        ("aclnnX", "tensor self, Tensor(a!) out", "signature: expected a type of Tensor, Tensor?, Tensor(a!), "),
        ("aclnnX", "Tensor(a!)", "signature: expected a type, a space and a name"),
        ("aclnnX", "Tensor self, int dim=1, Tensor(a!) out", "without a default value"),
        ("aclnnX", "Tensor out, Tensor(a!) out", "different names"),
        ("aclnnX", "Tensor self, Tensor(a!) out,", "a parameter behind each comma"),
        ("aclnnX", "int? dim, Tensor(a!) out", "expected a type of"),
        ("X", "Scalar alpha, Tensor(a!) out", "expected a type of"),
        (
            "aclnnAdd",
            "Tensor self, Tensor other, Scalar alpha, Tensor(a!) out",
            "aclnnAdd: expected a name that is not taken, or replace=True",
        ),
        ("TransData", "Tensor x, Tensor(a!) y", "TransData: expected a name that is not taken, or replace=True"),
    ],
)
def test_what_cannot_be_registered_is_refused(name, signature, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        torch_aclnn.host.implement(name, signature)(lambda *arguments: None)


def test_a_function_must_take_the_parameters_of_its_signature():
    with pytest.raises(
        TypeError, match=re.escape('aclnnX: expected a function of the 2 parameters of "Tensor self, Tensor(a!) out", got one of (x)')
    ):
        torch_aclnn.host.implement("aclnnX", "Tensor self, Tensor(a!) out")(lambda x: None)
    with pytest.raises(ValueError, match=r"aclnnX: dtypes: expected some of torch\.float32, .* got float"):
        torch_aclnn.host.implement("aclnnX", "Tensor(a!) out", dtypes=["float"])(lambda out: None)
    with pytest.raises(ValueError, match="signature: expected the 4 parameters of aclnnAdd, got 1"):
        torch_aclnn.host.implement("aclnnAdd", "Tensor(a!) out", replace=True)(lambda out: None)
    with pytest.raises(ValueError, match="signature: c: expected what aclnnAdd has as alpha, Scalar, got Ints"):
        torch_aclnn.host.implement("aclnnAdd", "Tensor a, Tensor b, int[] c, Tensor(a!) d", replace=True)(lambda a, b, c, d: None)


REFUSED = """
import ctypes, torch_aclnn

def phase1():
    return ctypes.CDLL("libopapi.so")["aclnnHansEncodeGetWorkspaceSize"](*[None] * 4)

assert phase1() == 561003
torch_aclnn.host.implement("aclnnHansEncode", "Tensor self, Tensor(a!) out")(lambda self, out: None)
listed = {entry_point.name: entry_point for entry_point in torch_aclnn.host.registry.entry_points()}["aclnnHansEncode"]
print(phase1(), listed.refused, len(listed.parameters))
"""


def test_an_entry_point_that_the_engine_refuses_can_be_implemented():
    assert output_of(REFUSED) == "161001 False 2"


# The engine has each entry point that this torch_npu looks up: the error's text is torch_npu's, its traceback that of a refused call.
MISSING = """
import torch, torch_aclnn, torch_npu
context, layer = torch.ones(8, dtype=torch.int8, device="npu"), torch.ones(1, dtype=torch.int32, device="npu")
name = "aclnnAttentionWorkerCombine"
missing = RuntimeError(f"{name} or {name}GetWorkspaceSize not in libopapi.so, or libopapi.so not found.")
try:
    torch_npu.npu_attention_worker_combine(context, torch.ones(2, 3, device="npu"), layer, 4)
except RuntimeError as refused:
    traceback = refused.__traceback__
raise missing.with_traceback(traceback)
"""


def test_the_error_of_a_missing_entry_point_ends_with_the_lines_to_begin_with():
    done = run_python(MISSING)
    assert done.returncode == 1
    text = done.stderr[done.stderr.index("\ntorch_aclnn: the host engine does not have aclnnAttentionWorkerCombine.") :]
    assert '@torch_aclnn.host.implement("aclnnAttentionWorkerCombine", "Tensor schedule_context, Tensor expert_scales, ' in text
    assert 'int hidden_size, int token_dtype, int need_schedule, Tensor(a!) out0, Tensor(a!) out1")' in text
    assert "# called with schedule_context=int8[8], expert_scales=float32[2, 3], layer_id=int32[1], hidden_size=4" in text
    assert explain(RuntimeError("another")) is None
    optional = lines("aclnnMoeReRouting", torch.ops.npu.npu_moe_re_routing.default._schema)
    assert "Tensor expert_token_num_per_rank, Tensor? per_token_scales, " in optional
    assert "the entry point may be without tokens_dtype, which a call of torch_npu may leave out" in optional


def test_an_error_that_names_nothing_is_explained(monkeypatch):
    monkeypatch.setenv("TORCH_NPU_LAZY_FUSION", "1")
    assert explain(RuntimeError("stoi\n[ERROR] ERR99999")).startswith("TORCH_NPU_LAZY_FUSION")
    monkeypatch.delenv("TORCH_NPU_LAZY_FUSION")
    assert explain(RuntimeError("stoi")) is None


def test_the_failure_of_a_missing_operator_has_the_lines_to_begin_with():
    done = run_python(
        'import torch, torch_npu\nboxes = torch.rand(3, 4, device="npu")\ntorch_npu.npu_iou(boxes, boxes)\ntorch.npu.synchronize()',
    )
    assert '@torch_aclnn.host.implement("Iou", "Tensor x0, Tensor x1, ' in done.stderr
    assert 'Tensor(a!) y0")' in done.stderr and "# x0: {3, 4} of FLOAT16, " in done.stderr


@pytest.fixture(scope="module")
def compile_library(tmp_path_factory):
    folder = tmp_path_factory.mktemp("libraries")

    def compile_library(name: str, *options: str) -> str:
        source = PROGRAMS / "implemented_library.cpp"
        return str(shared_library(source, folder / f"lib{name}.so", ["-std=c++17", "-Wall", "-Werror", f"-I{includedir()}", *options]))

    return compile_library


def test_a_library_implements_in_cpp(compile_library):
    libraries = ":".join((compile_library("twice"), compile_library("thrice", "-DTHRICE")))
    assert run_program("implemented_library.py", TORCH_ACLNN_HOST_LIBRARIES=libraries) == "passed"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("-DMAJOR=2",), "torch_aclnn/implement.h: expected version 1.x, got 2.0"),
        (("-DTAKEN",), "aclnnAdd: expected a name that is not taken, or replace=True, got one of the engine's"),
        (("-DBAD",), "signature: expected a parameter that is written"),
    ],
    ids=["version", "taken", "signature"],
)
def test_a_library_that_cannot_be_taken_in_is_refused_at_the_start(compile_library, options, message):
    path = compile_library(options[0][2:5].lower(), *options)
    done = run_python("import torch, torch_aclnn; torch.ones(1, device='npu')", TORCH_ACLNN_HOST_LIBRARIES=path)
    assert done.returncode == 1 and f"TORCH_ACLNN_HOST_LIBRARIES: {path}: {message}" in done.stderr


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("/nowhere.so", "/nowhere.so: cannot open shared object file"),
        (sys.executable, ""),
        ("libm.so.6", "it does not export torchAclnnHostLibrary"),
    ],
)
def test_a_path_without_such_a_library_is_refused_at_the_start(path, message):
    done = run_python("import torch, torch_aclnn; torch.ones(1, device='npu')", TORCH_ACLNN_HOST_LIBRARIES=path)
    assert done.returncode == 1 and f"TORCH_ACLNN_HOST_LIBRARIES: {path}: {message}" in done.stderr
