"""What all tests share: devices, the order in which processes take tests, and which tests a run leaves out (support/tiers.py)."""

import contextlib
import ctypes
import gc
import os
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any

import hypothesis
import pytest
import torch
from torch_aclnn.loading.paths import libdir

from support.refusals import reason_to_skip
from support.runtime import Runtime
from support.tiers import TIERS, left_out, shares_fixtures

# For the benchmarks and the examples. At the end, so that an installed torch_aclnn comes before the source tree, which need not be built.
sys.path.append(str(Path(__file__).parent.parent))

DEVICES = ("cpu", "npu")

# The processes of pytest-xdist, and what they start, share the processors. More threads than processors wait for each other in busy loops.
if "PYTEST_XDIST_WORKER_COUNT" in os.environ:
    _threads = max(1, (os.cpu_count() or 1) // int(os.environ["PYTEST_XDIST_WORKER_COUNT"]))
    torch.set_num_threads(_threads)
    os.environ.setdefault("OMP_NUM_THREADS", str(_threads))
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")


@pytest.fixture(params=DEVICES)
def device(request: pytest.FixtureRequest) -> str:
    """The engine's device and the plain one, on which the same kernels run."""
    return request.param


@pytest.fixture(scope="session")
def library() -> Runtime:
    return Runtime(str(libdir() / "libascendcl.so"), mode=ctypes.RTLD_GLOBAL)


@pytest.fixture
def acl(library: Runtime) -> Runtime:
    """Return the runtime with device 0 chosen on this thread and no error left over."""
    library.ok("aclrtSetDevice", 0)
    library.aclGetRecentErrMsg()
    library.aclrtGetLastError(0)
    return library


@pytest.fixture(autouse=True)
def _seed() -> None:
    torch.manual_seed(20)


class _TorchRandom:
    """torch's generator as hypothesis wants it, so that an example that failed fails again."""

    def seed(self, value: int) -> None:
        torch.manual_seed(value)

    def getstate(self) -> torch.Tensor:
        return torch.get_rng_state()

    def setstate(self, state: torch.Tensor) -> None:
        torch.set_rng_state(state)


_torch_random = _TorchRandom()  # hypothesis keeps a weak reference
hypothesis.register_random(_torch_random)
# The time that an example takes depends on how busy the machine is.
hypothesis.settings.register_profile("without a time limit", deadline=None)
hypothesis.settings.load_profile("without a time limit")


# The tests in these folders start a process for each rank, use all cores, or share compiled files, so they run one after the other.
ONE_BY_ONE = ("tests/distributed/", "tests/fuzz/", "tests/sanitizers/")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Give pytest-xdist's processes a test each, and one of them all tests of a folder or file where they must not or need not be apart."""
    from xdist.scheduler.loadscope import LoadScopeScheduling

    class ByTestOrFolder(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file = nodeid.split("::")[0]
            folder = next((folder for folder in ONE_BY_ONE if nodeid.startswith(folder)), None)
            return folder or (file if shares_fixtures(file) else nodeid)

    return ByTestOrFolder(config, log)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--full", action="store_true", help="take the tests that a default run leaves out, too (tests/support/tiers.py)")


_TAKES_ALL = pytest.StashKey[bool]()


def pytest_configure(config: pytest.Config) -> None:
    """Name the tiers' marks, and decide what is taken: who names files or tests wants all of them."""
    for tier, meaning in TIERS.items():
        config.addinivalue_line("markers", f"{tier}: {meaning}")
    config.addinivalue_line("markers", "full: left out by a default run; --full takes it")
    named = config.args_source is pytest.Config.ArgsSource.ARGS
    config.stash[_TAKES_ALL] = getattr(config, "workerinput", {}).get(
        "takes_all", bool(config.option.full or config.option.markexpr or named)
    )


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Have a process of pytest-xdist take what the one that starts it takes."""
    node.workerinput["takes_all"] = node.config.stash[_TAKES_ALL]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark what a default run leaves out, and leave it out; and what takes minutes, unless -m names it."""
    dropped = set() if "exhaustive" in config.option.markexpr else {item for item in items if item.get_closest_marker("exhaustive")}
    for item, tier in left_out(item for item in items if item not in dropped):
        item.add_marker(tier)
        item.add_marker("full")
        if not config.stash[_TAKES_ALL]:
            dropped.add(item)
    if dropped:
        config.hook.pytest_deselected(items=[item for item in items if item in dropped])
        items[:] = [item for item in items if item not in dropped]


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Let no garbage collection go through what the imports and the collection of thousands of tests have made."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        gc.enable()


def _forget_what_failed() -> None:
    """Synchronise in the threads that launch, this one and autograd's: each is told once of a task that failed, maybe in another test."""
    for synchronise in (torch.npu.synchronize, _synchronise_in_autograds_thread):
        with contextlib.suppress(RuntimeError):
            synchronise()


def _synchronise_in_autograds_thread() -> None:
    x = torch.zeros(1, device="npu", requires_grad=True)
    x.register_hook(lambda _: torch.npu.current_stream().synchronize())
    (x * 1).backward()


def _skip_what_is_not_offered(item: pytest.Item) -> Generator[None, object, object]:
    try:
        return (yield)
    except Exception as error:
        reason = reason_to_skip(str(error))
        if reason:
            _forget_what_failed()
            pytest.skip(reason)
        raise


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None, object, object]:
    """Skip a test if one of its fixtures is not offered here."""
    return (yield from _skip_what_is_not_offered(item))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Skip a test that asks for what is not offered here (refusals.tsv). Any other error is a failure."""
    return (yield from _skip_what_is_not_offered(item))
