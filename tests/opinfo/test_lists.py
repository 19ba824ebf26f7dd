"""The lists of what passes and of what is excluded say nothing that is not so, and the checks notice what is wrong."""

import dataclasses
import re
import sys
from pathlib import Path

import pytest
import torch

from opinfo import exclusions
from opinfo.entries import ENGINE, ENTRIES, Case, cases
from opinfo.passed_list import LISTED, MINOR, UPDATE
from opinfo.run import run
from opinfo.samples import samples
from support.marks import host_engine_only
from support.subprocesses import host_mode, run_python

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
CONTRACT = tuple((ROOT / "docs" / "operators").glob("*.md"))

pytestmark = pytest.mark.opinfo
in_default_engine = pytest.mark.skipif(ENGINE != "default", reason="says nothing new in the process with float64")


@pytest.mark.parametrize("cause", sorted({e.cause for e in exclusions.EXCLUSIONS}))
def test_the_cause_of_each_exclusion_is_written_in_the_contract(cause):
    contract = " ".join(" ".join(path.read_text() for path in CONTRACT).split())
    limitations = re.findall(r"^- \*\*(.*)\.\*\*", (HERE / "README.md").read_text(), re.MULTILINE)
    assert cause in contract or cause in limitations


@in_default_engine
@pytest.mark.skipif(MINOR != LISTED, reason=f"the exclusions are those of the samples of torch {LISTED}")
@pytest.mark.exhaustive
def test_each_exclusion_covers_a_sample_that_no_earlier_one_covers():
    used = set()
    for engine in ("default", "float64"):
        for case in (*cases(modules=False, engine=engine), *cases(modules=True, engine=engine)):
            for sample in samples(case):
                used.add(next((e for e in exclusions.EXCLUSIONS if e.covers(case, sample, engine)), None))
    assert used >= set(exclusions.EXCLUSIONS)


def test_each_listed_case_still_exists(passed_list):
    """Only the lists of the running version are checked; a case of another version need not exist."""
    existing = {str(case) for modules in (False, True) for case in cases(modules)}
    assert sorted(set(passed_list.counts) - existing) == []


class _WrongGradient(torch.autograd.Function):
    """The identity, whose gradient is a tenth too large; or whose gradient is right and has such a gradient."""

    @staticmethod
    def forward(ctx, x, times_differentiated):
        ctx.left = times_differentiated - 1
        return x.clone()

    @staticmethod
    def backward(ctx, grad):
        return (_WrongGradient.apply(grad, ctx.left) if ctx.left else grad * 1.1), None


WRONG = {
    "forward": lambda y: y * (1 + 1e-5),
    "noncontiguous_forward": lambda y: y * (1 + 1e-5),
    "backward": lambda y: _WrongGradient.apply(y, 1),
    "noncontiguous_backward": lambda y: _WrongGradient.apply(y, 1),
    "gradcheck": lambda y: _WrongGradient.apply(y, 1),
    "gradgradcheck": lambda y: _WrongGradient.apply(y, 2),
}


@host_engine_only
@in_default_engine
@pytest.mark.parametrize(("name", "chosen"), [("nn.functional.avg_pool2d", 4), ("nn.functional.batch_norm", 5)])
@pytest.mark.parametrize("check", WRONG)
def test_each_check_notices_a_wrong_result(name, chosen, check, monkeypatch):
    monkeypatch.setattr("opinfo.run.samples", lambda case: samples(case)[chosen : chosen + 1])  # only one small sample
    (entry,) = (e for e in ENTRIES if e.title == name)
    wrong = dataclasses.replace(entry, ours=lambda *args, **kwargs: WRONG[check](entry.ours(*args, **kwargs)))
    with pytest.raises(pytest.fail.Exception, match=r"1 of 1 samples:\n.*\n    (AssertionError|GradcheckError)"):
        run(Case("ours", wrong, torch.float32, check))


@pytest.mark.exhaustive
@host_engine_only
@in_default_engine
def test_the_suite_passes_with_float64_taken_by_each_operator(pytestconfig):
    update = [UPDATE] if pytestconfig.getoption(UPDATE, default=False) else []
    launcher = (sys.executable, "-m", "pytest", "-q", str(HERE), *update)
    done = run_python("", launcher=launcher, **host_mode("float64"))
    assert done.returncode == 0, done.stdout[-8000:]
