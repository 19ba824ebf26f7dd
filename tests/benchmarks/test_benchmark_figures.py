"""What the benchmarks print, draw and write: tables that fit the console, marks of doubtful cases, and figures that come back."""

import json

import torch_aclnn  # noqa: F401
import pytest
from rich.console import Console
from torch_aclnn._operators import BY_NAME

from benchmarks import dispatch, kernels, machine
from benchmarks.families import CASES
from benchmarks.families.pooling import AvgPool
from benchmarks.figures import Earlier, Figures, UnusableFile, as_json, read_earlier
from benchmarks.pairs import autograd_pairs, operator_pairs
from benchmarks.tables import make_console, print_conclusions, print_times

FAST = Figures("pool float32 2x2", "pool", bytes=2**20, ours_ms=2.0, aten_ms=8.0, inductor_ms=4.0)
DOUBTFUL = Figures("pool float32 4x4", "pool", bytes=2**20, ours_ms=1e-3, aten_ms=1e3, doubtful=True)
SLOW = Figures("pad float32 2x2", "pad", bytes=1000, ours_ms=3.0, aten_ms=1.5)


def test_figures_come_back_from_json_and_are_compared(tmp_path, capsys):
    path = tmp_path / "old.json"
    path.write_text(json.dumps({"copy_gb_per_s": 10, "cases": [{"name": FAST.name, "ours_ms": 6.0}, {"name": "gone", "ours_ms": 1}]}))
    earlier = read_earlier(path, [FAST.name])
    assert earlier.speedup(FAST) == 3.0 and earlier.speedup(SLOW) is None
    print_times(make_console(), [FAST, SLOW], 5.0, earlier)
    print_conclusions(make_console(), [FAST, SLOW], 5.0, earlier)
    text = " ".join(capsys.readouterr().out.split())
    assert "old / new is 3.00 in the geometric mean (cases: 1); copy_ went at 10.0 GB/s then" in text
    assert f"slower than its best peer: {SLOW.name}, 2.00 times its time" in text
    path.write_text(json.dumps(as_json([FAST, SLOW], 5.0, {}, {})))
    assert read_earlier(path, [SLOW.name]).speedup(SLOW) == 1.0


def test_doubtful_cases_are_marked_and_left_out_of_means_and_conclusions():
    console = Console(record=True, width=80)
    print_times(console, [FAST, DOUBTFUL], 5.0, None)
    print_conclusions(console, [FAST, DOUBTFUL], 5.0, None)
    text = console.export_text()
    ratios = [line.split()[-2] for line in text.splitlines() if line.startswith(("float32", "geometric mean", "all:"))]
    assert ratios == ["2.00", "1000000.00?", "2.00", "2.00"]
    assert "from 1 MiB on (cases: 1)" in text
    means = as_json([FAST, DOUBTFUL], 5.0, {}, {})["geometric_mean_against_peer"]
    assert means == {"pool": pytest.approx(2.0), "all": pytest.approx(2.0)}
    print_conclusions(console, [DOUBTFUL], 5.0, None)
    assert "no conclusions: all cases are doubtful" in console.export_text()
    assert json.loads(json.dumps(as_json([DOUBTFUL], 5.0, {}, {})))["geometric_mean_against_peer"]["all"] is None


@pytest.mark.parametrize(("share", "doubtful"), [(0.04, False), (0.06, True)])
def test_a_case_is_doubtful_if_other_programs_ran_meanwhile(monkeypatch, share, doubtful):
    monkeypatch.setattr(machine.OtherPrograms, "share", lambda self: share)
    run = kernels.Run(rounds=1, with_inductor=False)
    run.measure(AvgPool(operator=BY_NAME["avg_pool2d"], shape=(1, 1, 4, 4), kernel=2, stride=2))
    assert run.cases[0].doubtful == doubtful


def test_other_programs_share_is_counted(monkeypatch):
    busy, wall = iter([10.0, 10.5]), iter([100.0, 101.0])
    monkeypatch.setattr(machine, "_busy_seconds", lambda: next(busy))
    monkeypatch.setattr(machine.time, "monotonic", lambda: next(wall))
    monkeypatch.setattr(machine.os, "cpu_count", lambda: 2)
    ticks = machine._MISCOUNTED_TICKS / machine.os.sysconf("SC_CLK_TCK")
    assert machine.OtherPrograms().share() == pytest.approx((0.5 - ticks) / 2)


def test_at_80_columns_no_case_takes_more_than_two_lines():
    cases = [Figures(case.name, case.group, 10**6, ours_ms=1234.0, aten_ms=0.00123, inductor_ms=1234.0) for case in CASES]
    console = Console(record=True, width=80)
    print_times(console, cases, 5.0, Earlier({case.name: 1234.0 for case in cases}, 5.0))
    lines = console.export_text().splitlines()
    assert max(map(len, lines)) <= 80 and "…" not in "".join(lines)
    for case in cases:
        pairs = zip(lines, [*lines[1:], ""], strict=True)
        assert any(case.label in (one[:32].strip(), f"{one[:32].strip()} {two[:32].strip()}") for one, two in pairs), case.label


@pytest.mark.parametrize("width", [80, 180])
def test_calling_costs_fit_the_console(width):
    costs = [
        dispatch.Cost(kind, name, setting, 12.34, 56.78, cache_hits=1234567)
        for kind, names in ((dispatch.OPERATORS, operator_pairs("npu")), (dispatch.AUTOGRAD, autograd_pairs("npu")))
        for name in names
        for setting in dispatch.SETTINGS
    ]
    console = Console(record=True, width=width)
    dispatch.print_costs(console, costs)
    text = console.export_text()
    assert max(map(len, text.splitlines())) <= width and "…" not in text
    assert text.count("12.3 / 56.8 = 0.22") == len(costs)
    assert all(any(line.startswith(name) for line in text.splitlines()) for name in operator_pairs("npu"))


@pytest.mark.parametrize("text", ["{", "[]", '{"cases": [{"name": "x"}], "copy_gb_per_s": 1}', '{"cases": [], "copy_gb_per_s": 1}'])
def test_a_file_of_something_else_is_refused(tmp_path, text):
    path = tmp_path / "other.json"
    path.write_text(text)
    with pytest.raises(UnusableFile, match=r"other\.json: expected (figures that .* --json wrote|at least one of the cases)"):
        read_earlier(path, [FAST.name])
