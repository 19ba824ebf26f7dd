"""How the runs of other versions are read and shown."""

from pathlib import Path

import pytest

from support.scripts import DOCS, load

REPORT = """<testsuites><testsuite>
<testcase classname="tests.test_a" name="test_passes"/>
<testcase classname="tests.test_a" name="test_fails"><failure/></testcase>
<testcase classname="tests.test_b" name="test_breaks"><error/></testcase>
<testcase classname="tests.test_b" name="test_skipped"><skipped message="torch_npu is not installed"/></testcase>
<testcase classname="tests.test_b" name="test_too_new"><skipped message="torch_npu 2.7 to 2.8: graphs stay"/></testcase>
</testsuite></testsuites>"""


HEAD = "torch_npu\ttorch\tpython\tmachine\tdate\tpassed\tskipped\tfailed\tdigits\tnamed\tanswered\tshortcomings\n"


@pytest.fixture
def generator(tmp_path, monkeypatch):
    """Return docs/generate_versions.py with runs and a document of its own."""
    module = load(DOCS / "generate_versions.py")
    monkeypatch.setattr(module, "DOCUMENT", tmp_path / "versions.md")
    monkeypatch.setattr(module, "RUNS", tmp_path / "versions.tsv")
    module.DOCUMENT.write_text(f"before\n{module.BEGIN}{module.END}after\n")
    module.RUNS.write_text(HEAD)
    return module


def run(torch_npu: str, shortcomings: str = "", python: str = "3.11.7", digits: float | None = 98.5, failed: int = 0) -> dict[str, object]:
    versions = {"torch_npu": torch_npu, "torch": "2.9.0+cu128", "python": python, "machine": "x86_64", "date": "2026-11-23"}
    counts = {"passed": 7, "skipped": 2, "failed": failed, "digits": digits, "named": 9, "answered": 8}
    return {**versions, **counts, "shortcomings": shortcomings}


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


def test_the_table_has_the_oldest_version_first(generator, monkeypatch):
    generator.write_run(run("2.10.0.post7", "arrays go; graphs stay"))
    generator.write_run(run("2.9.0.post9", "graphs stay; sums go", digits=None, failed=1))
    monkeypatch.setattr("sys.argv", ["generate_versions.py"])
    generator.main()
    text = generator.DOCUMENT.read_text()
    rows = [line for line in text.splitlines() if line.startswith("| 2")]
    assert rows == [
        "| 2.9.0.post9 | 2.9.0+cu128 | 3.11.7 | x86_64 | 2026-11-23 | 7 | 2 | 1 | fails | 9 | 8 |",
        "| 2.10.0.post7 | 2.9.0+cu128 | 3.11.7 | x86_64 | 2026-11-23 | 7 | 2 | 0 | 98.5 % | 9 | 8 |",
    ]
    assert "- 2.9: sums go\n- 2.9, 2.10: graphs stay\n- 2.10: arrays go\n" in text
    assert text.startswith("before\n") and text.endswith("after\n")


def test_an_old_table_fails_the_check(generator, monkeypatch):
    generator.write_run(run("2.10.0.post7"))
    monkeypatch.setattr("sys.argv", ["generate_versions.py", "--check"])
    before = generator.DOCUMENT.read_text()
    with pytest.raises(SystemExit, match=r"docs/versions\.md is out of date"):
        generator.main()
    assert generator.DOCUMENT.read_text() == before
