"""A toolkit that is sourced: torch_npu loads it by itself under TORCH_ACLNN_ENGINE=cann, and nothing of it under host."""

import json
import sys
from pathlib import Path

import pytest
from torch_aclnn.loading.cann import TOOLKIT_VARIABLES
from torch_aclnn.loading.paths import libdir

from support.marks import without_import_hook
from support.subprocesses import COMMAND, output_of, run_python

ROOT = Path(__file__).resolve().parents[2]
PYTHON = (sys.executable, "-c")

IMPORTS = {"torch first": "import torch, torch_aclnn", "torch last": "import torch_aclnn, torch"}
# One entry point of libopapi.so and one of libaclnn_math.so; then what is loaded, and what a child would inherit.
USE = """
import json, os
x = torch.ones(1, 1, 4, 4, device="npu", requires_grad=True)
torch_aclnn.functional.avg_pool2d(x.exp(), 2).sum().backward()
assert abs(x.grad.sum().item() - 2.718282 * 4) < 1e-4
paths = sorted({line.split()[-1] for line in open("/proc/self/maps") if ".so" in line})
environment = {name: os.environ.get(name, "") for name in ("ASCEND_HOME_PATH", "ASCEND_OPP_PATH", "LD_LIBRARY_PATH")}
print(json.dumps({"active": torch_aclnn.host.is_active(), "paths": paths, "environment": environment}))
"""


def use(sourced: tuple[str, ...], imports: str, launcher: tuple[str, ...] = PYTHON, **settings: str) -> dict:
    return json.loads(output_of(f"{imports}\n{USE}", launcher=(*sourced, *launcher), **settings).splitlines()[-1])


def libraries_in(directory: Path, state: dict) -> set[str]:
    return {Path(path).name for path in state["paths"] if Path(path).is_relative_to(directory)}


def assert_toolkit_answers(toolkit: Path, state: dict) -> None:
    assert state["active"]
    assert {"libascendcl.so", "libopapi.so", "libaclnn_math.so", "libhccl.so"} <= libraries_in(toolkit / "lib64", state)
    assert libraries_in(toolkit / "opp", state) == {"libcust_opapi.so"}
    # The one of the package's libraries that is no part of the engine, and is needed beside torch's CUDA build.
    assert libraries_in(libdir(), state) <= {"libtorch_aclnn_allocator_keys.so"}
    assert state["environment"]["ASCEND_HOME_PATH"] == str(toolkit)
    assert str(libdir()) not in state["environment"]["LD_LIBRARY_PATH"]


def assert_package_answers(toolkit: Path, state: dict) -> None:
    assert state["active"]
    assert {"libascendcl.so", "libopapi.so", "libaclnn_math.so", "libaclnn_fft.so"} <= libraries_in(libdir(), state)
    assert libraries_in(toolkit, state) == set()
    assert {name: state["environment"][name] for name in TOOLKIT_VARIABLES} == TOOLKIT_VARIABLES
    assert state["environment"]["LD_LIBRARY_PATH"].startswith(str(libdir()))


@pytest.mark.parametrize(("imports", "engine"), [("torch first", "cann"), ("torch last", "cann"), ("torch last", "auto")])
def test_a_toolkit_that_loads_answers(toolkit, sourced, imports, engine):
    assert_toolkit_answers(toolkit, use(sourced, IMPORTS[imports], TORCH_ACLNN_ENGINE=engine))


def test_the_host_engine_keeps_a_sourced_toolkit_out(toolkit, sourced):
    assert_package_answers(toolkit, use(sourced, IMPORTS["torch last"], TORCH_ACLNN_ENGINE="host"))


def test_the_run_command_keeps_a_sourced_toolkit_out(toolkit, sourced):
    assert_package_answers(toolkit, use(sourced, IMPORTS["torch first"], launcher=(COMMAND, "run", "-c")))


def test_the_env_command_keeps_a_sourced_toolkit_out(toolkit, sourced):
    shell = ("bash", "-c", f'eval "$({COMMAND} env)"; exec {sys.executable} -c "$1"', "bash")
    assert_package_answers(toolkit, use(sourced, IMPORTS["torch first"], launcher=shell))


def test_the_coverage_command_keeps_a_sourced_toolkit_out(toolkit, sourced):
    printed = output_of(f"{IMPORTS['torch first']}\n{USE}", launcher=(*sourced, COMMAND, "coverage", "-c"))
    assert_package_answers(toolkit, json.loads(next(line for line in printed.splitlines() if line.startswith("{"))))


def test_trying_cann_leaves_nothing_of_it_in_the_process(sourced):
    code = """
    from torch_aclnn_command import bare_package
    with bare_package(): from torch_aclnn.loading import engine
    engine.activate()
    print("libascendcl" in open("/proc/self/maps").read())
    """
    assert output_of(code, launcher=(*sourced, *PYTHON)) == "False"


@without_import_hook
def test_asking_for_the_host_engine_after_the_toolkit_is_loaded_is_refused(sourced):
    settings = {"TORCH_ACLNN_ENGINE": "host", "TORCH_ACLNN_IMPORT_HOOK": "0"}
    done = run_python("import torch, torch_aclnn", launcher=(*sourced, *PYTHON), **settings)
    assert "TORCH_ACLNN_ENGINE=host, but the libraries of cann are loaded already" in done.stderr


def test_info_lists_the_libraries_in_the_order_of_torch_npu(toolkit, sourced):
    custom = toolkit / "elsewhere"
    printed = output_of("", launcher=(*sourced, COMMAND, "info"), TORCH_ACLNN_ENGINE="cann", ASCEND_CUSTOM_OPP_PATH=str(custom))
    rows = [(line[:32].rstrip(), line[33:]) for line in printed.splitlines()]
    assert [value for name, value in rows if name.startswith("operator library")] == [
        f"{custom}/op_api/lib/libcust_opapi.so: not found",
        f"{toolkit}/opp/vendors/acme/op_api/lib/libcust_opapi.so: found",
        # torch_npu loaded these; it found the first four in the folder of the toolkit.
        *(f"libopapi{part}.so: loaded" for part in ("_cv", "_math", "_nn", "_transformer", "")),
        *(f"libaclnn_{part}.so: found" for part in ("ops_infer", "ops_train", "math", "sparse", "fft", "rand")),
    ]
    table = dict(rows)
    assert table["engine"] == f"host engine (CPU; not an NPU), instead of CANN: {toolkit}/lib64" and table["verdict"] == "ready"
    assert table["aclnnAvgPool2dBackward"] == f"{toolkit}/lib64/libopapi.so"


OPERATOR_TESTS = [
    *sorted(path.relative_to(ROOT / "tests") for path in (ROOT / "tests" / "planes").glob("test_*.py")),
    Path("operators", "test_batch_norm_elemt.py"),
]


@pytest.mark.slow
@pytest.mark.parametrize(
    "path",
    [pytest.param(path, marks=() if path.stem == "test_pooling" else pytest.mark.exhaustive, id=str(path)) for path in OPERATOR_TESTS],
)
def test_the_tests_of_the_operators_pass_with_a_toolkit(sourced, path):
    pytest_command = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(ROOT / "tests" / path))
    done = run_python("", launcher=(*sourced, *pytest_command), TORCH_ACLNN_ENGINE="cann")
    assert done.returncode == 0 and " passed" in done.stdout, done.stdout[-4000:] + done.stderr[-4000:]


@pytest.mark.slow
def test_the_example_learns_with_a_toolkit(sourced):
    command = (*sourced, sys.executable, str(ROOT / "examples" / "train_digits.py"))
    assert "test accuracy" in output_of("", launcher=command, TORCH_ACLNN_ENGINE="cann")
