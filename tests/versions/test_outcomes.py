"""How the runs of other versions are read and shown."""

from pathlib import Path

import pytest
from versions import smoke

from support.scripts import DOCS, load

REPORT = """<testsuites><testsuite>
<testcase classname="tests.test_a" name="test_passes"/>
<testcase classname="tests.test_a" name="test_fails"><failure/></testcase>
<testcase classname="tests.test_b" name="test_breaks"><error/></testcase>
<testcase classname="tests.test_b" name="test_skipped"><skipped message="torch_npu is not installed"/></testcase>
<testcase classname="tests.test_b" name="test_too_new"><skipped message="torch_npu 2.7 to 2.8: graphs stay"/></testcase>
</testsuite></testsuites>"""


HEAD = "torch_npu\ttorch\tpython\tmachine\trun\tdate\tpassed\tskipped\tfailed\tdigits\tnamed\tanswered\tshortcomings\n"


@pytest.fixture
def generator(tmp_path, monkeypatch):
    """Return docs/generate_versions.py with runs and a document of its own."""
    module = load(DOCS / "generate_versions.py")
    monkeypatch.setattr(module, "DOCUMENT", tmp_path / "versions.md")
    monkeypatch.setattr(module, "RUNS", tmp_path / "versions.tsv")
    module.DOCUMENT.write_text(f"before\n{module.BEGIN}{module.END}after\n")
    module.RUNS.write_text(HEAD)
    return module


def run(torch_npu: str, shortcomings: str = "", **others: object) -> dict[str, object]:
    versions = {"torch_npu": torch_npu, "torch": "2.9.0+cu128", "python": "3.11.7", "machine": "x86_64"}
    counts = {"passed": 7, "skipped": 2, "failed": 0, "digits": 98.5, "named": 9, "answered": 8}
    return {**versions, "run": "full", "date": "2026-11-23", **counts, "shortcomings": shortcomings, **others}


def test_a_report_is_counted(tmp_path):
    (tmp_path / "report.xml").write_text(REPORT)
    outcomes = load(Path(__file__).parent / "outcomes.py")
    failed = ["tests.test_a.test_fails", "tests.test_b.test_breaks"]
    expected = {"passed": 1, "skipped": 2, "failed": failed, "shortcomings": "graphs stay"}
    assert outcomes.read_report(tmp_path / "report.xml") == expected


@pytest.mark.parametrize("before", ["graphs stay", ""])
def test_tests_that_ran_again_count_once(before):
    outcomes = load(Path(__file__).parent / "outcomes.py")
    row = {"passed": "5", "skipped": "1", "failed": "3", "shortcomings": before}
    again = {"passed": 1, "skipped": 1, "failed": ["c"], "shortcomings": "sums go"}
    expected = {"passed": 6, "skipped": 2, "failed": ["c"], "shortcomings": "; ".join(filter(None, [before, "sums go"]))}
    assert outcomes.corrected(row, again) == expected


def test_a_run_replaces_the_one_of_the_same_release_python_and_machine(generator):
    for torch_npu, python in [("2.9.0", "3.11.7"), ("2.9.0.post9", "3.11.7"), ("2.9.0", "3.10.1"), ("2.9.0", "3.11.9")]:
        generator.write_run(run(torch_npu, python=python))
    kinds = [(row["torch_npu"], row["python"]) for row in generator.read_runs()]
    assert kinds == [("2.9.0", "3.10.1"), ("2.9.0", "3.11.9"), ("2.9.0.post9", "3.11.7")]


def test_a_smoke_run_leaves_the_whole_one_of_the_same_release(generator):
    for extent in ("smoke", "full", "smoke"):
        generator.write_run(run("2.9.0", run=extent))
    assert [row["run"] for row in generator.read_runs()] == ["full", "smoke"]


def test_a_smoke_run_adds_up_the_modes_of_the_queue(monkeypatch, tmp_path):
    def run_pytest(root: Path, report: Path, *names: str, **environment: str) -> dict[str, object]:
        mode = environment["TASK_QUEUE_ENABLE"]
        return {"passed": 3, "skipped": 1, "failed": ["tests.a"] if mode == "2" else [], "shortcomings": f"sums go in {mode}"}

    monkeypatch.setattr(smoke, "run_pytest", run_pytest)
    expected = {"passed": 9, "skipped": 3, "failed": ["tests.a, mode 2"], "shortcomings": "sums go in 1"}
    assert smoke.smoke(tmp_path, tmp_path / "report.xml") == expected


@pytest.mark.parametrize("name", [*smoke.FILES, smoke.CHECK])
def test_what_a_smoke_run_names_is_there(name):
    file, _, function = name.partition("::")
    assert f"def {function}" in (DOCS.parent / file).read_text()


def test_the_table_has_the_oldest_version_first(generator, monkeypatch):
    generator.write_run(run("2.10.0.post7", "arrays go; graphs stay"))
    generator.write_run(run("2.9.0.post9", "graphs stay; sums go", digits=None, failed=1))
    monkeypatch.setattr("sys.argv", ["generate_versions.py"])
    generator.main()
    text = generator.DOCUMENT.read_text()
    rows = [line for line in text.splitlines() if line.startswith("| 2")]
    assert rows == ["| 2.9 | 2.9.0.post9 (1 failed) |  | 3.11 |", "| 2.10 | 2.10.0.post7 |  | 3.11 |"]
    assert "- 2.9: sums go\n- 2.9, 2.10: graphs stay\n- 2.10: arrays go\n" in text
    assert text.startswith("before\n") and text.endswith("after\n")


def test_an_old_table_fails_the_check(generator, monkeypatch):
    generator.write_run(run("2.10.0.post7"))
    monkeypatch.setattr("sys.argv", ["generate_versions.py", "--check"])
    before = generator.DOCUMENT.read_text()
    with pytest.raises(SystemExit, match=r"docs/versions\.md is out of date"):
        generator.main()
    assert generator.DOCUMENT.read_text() == before
