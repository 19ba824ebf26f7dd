"""The fuzzer's target without libFuzzer: inputs that once found something, and inputs that are made from a seed."""

import re
from pathlib import Path

import pytest
from torch_aclnn.loading.paths import libdir

from support.sanitized import program, run, sanitized_engine

HERE = Path(__file__).parent
SOURCES = sorted(HERE.glob("*.cpp"))
TABLES = f"-I{HERE.parents[1] / 'csrc'}"
FOUND = sorted((HERE / "regressions").iterdir())
MODES = {
    "as usual": {},
    "scalar": {"TORCH_ACLNN_ISA": "scalar"},
    "workspace": {"TORCH_ACLNN_HOST_MODE": "workspace"},
    "asynchronous": {"TORCH_ACLNN_HOST_MODE": "async"},
    "Ascend310P3": {"TORCH_ACLNN_HOST_SOC": "Ascend310P3"},
}


@pytest.fixture(scope="module")
def driver(tmp_path_factory) -> Path:
    """The target with the engine that is installed; memory that is read or written too far has a page without access behind it."""
    return program(SOURCES, tmp_path_factory.mktemp("fuzz") / "driver", libdir(), TABLES)


@pytest.fixture(scope="module")
def sanitized_driver(tmp_path_factory) -> Path:
    sanitizers = "address,undefined"
    return program(SOURCES, tmp_path_factory.mktemp("fuzz") / "driver", sanitized_engine(sanitizers), TABLES, f"-fsanitize={sanitizers}")


def executions(ended) -> tuple[int, int]:
    """How many inputs ran, and how many of them were computed."""
    assert ended.returncode == 0, ended.stderr[-6000:]
    ran, _, computed = re.fullmatch(r"(\d+) executions in .* s, (\d+) accepted, (\d+) computed\n", ended.stdout).groups()
    return int(ran), int(computed)


@pytest.mark.parametrize("path", FOUND, ids=lambda path: path.name)
def test_what_was_found_stays_mended(driver, path):
    ended = run(driver, path)
    assert ended.returncode == 0, ended.stderr[-6000:]


@pytest.mark.parametrize("settings", MODES.values(), ids=MODES)
def test_contract_holds_for_inputs_of_a_seed(driver, settings, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ran, computed = executions(run(driver, "--runs", 4000, "--seconds", 10, **settings))
    # Some of each kind: an input that the fuzzer cannot make into an allowed call any more would test refusals only.
    assert 0.2 * ran < computed < 0.9 * ran


@pytest.mark.exhaustive
@pytest.mark.parametrize("settings", [MODES["as usual"], MODES["asynchronous"]], ids=["as usual", "asynchronous"])
def test_contract_holds_for_a_minute_with_sanitizers(sanitized_driver, settings, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for path in FOUND:
        assert run(sanitized_driver, path, **settings).returncode == 0
    ran, computed = executions(run(sanitized_driver, "--runs", 10**9, "--seconds", 30, "--seed", 2, **settings))
    assert ran > 1000 and computed > 0
