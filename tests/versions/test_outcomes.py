"""How the runs of other versions are read and shown."""

import json
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


@pytest.fixture
def generator(tmp_path, monkeypatch):
    """Return docs/generate_versions.py with records and a document of its own."""
    module = load(DOCS / "generate_versions.py")
    monkeypatch.setattr(module, "DOCUMENT", tmp_path / "versions.md")
    monkeypatch.setattr(module, "RECORDS", tmp_path)
    (tmp_path / "versions.md").write_text(f"before\n{module.BEGIN}{module.END}after\n")
    return module


def record(torch_npu: str, failed: list[str], *shortcomings: str, digits: float | None = 98.5) -> str:
    tests = {"passed": 7, "skipped": 2, "failed": failed, "shortcomings": shortcomings}
    versions = {"python": "3.11.7", "machine": "x86_64", "torch": "2.9.0+cu128", "torch_npu": torch_npu}
    return json.dumps({**versions, "tests": tests, "digits": digits, "entry_points": {"named": 9, "missing": ["aclnnFoo"]}})


def test_a_report_is_counted(tmp_path):
    (tmp_path / "report.xml").write_text(REPORT)
    outcomes = load(Path(__file__).parent / "outcomes.py")
    failed = ["tests.test_a.test_fails", "tests.test_b.test_breaks"]
    assert outcomes.read_report(tmp_path / "report.xml") == {
        "passed": 1,
        "skipped": 2,
        "failed": failed,
        "shortcomings": ["graphs stay"],
    }


def test_tests_that_ran_again_count_once():
    outcomes = load(Path(__file__).parent / "outcomes.py")
    before = {"passed": 5, "skipped": 1, "failed": ["a", "b", "c"], "shortcomings": ["graphs stay"]}
    again = {"passed": 1, "skipped": 1, "failed": ["c"], "shortcomings": ["sums go"]}
    assert outcomes.corrected(before, again) == {
        **{"passed": 6, "skipped": 2, "failed": ["c"]},
        "shortcomings": ["graphs stay", "sums go"],
    }


def test_the_table_has_the_oldest_version_first_and_names_what_failed(generator, tmp_path, monkeypatch):
    (tmp_path / "2.10.json").write_text(record("2.10.0.post7", [], "arrays go", "graphs stay"))
    (tmp_path / "2.9.json").write_text(record("2.9.0.post9", ["tests.test_a.test_fails"], "graphs stay", "sums go", digits=None))
    monkeypatch.setattr("sys.argv", ["generate_versions.py"])
    generator.main()
    text = generator.DOCUMENT.read_text()
    rows = [line for line in text.splitlines() if line.startswith("| 2")]
    assert rows == [
        "| 2.9.0.post9 | 2.9.0+cu128 | 3.11.7 | x86_64 | 7 | 2 | 1 | fails | 9 | 8 |",
        "| 2.10.0.post7 | 2.9.0+cu128 | 3.11.7 | x86_64 | 7 | 2 | 0 | 98.5 % | 9 | 8 |",
    ]
    assert "- torch_npu 2.9.0.post9, Python 3.11.7: `tests.test_a.test_fails`" in text
    assert "- 2.9: sums go\n- 2.9, 2.10: graphs stay\n- 2.10: arrays go\n" in text
    assert text.startswith("before\n") and text.endswith("after\n")


def test_an_old_table_fails_the_check(generator, tmp_path, monkeypatch):
    (tmp_path / "2.10.json").write_text(record("2.10.0.post7", []))
    monkeypatch.setattr("sys.argv", ["generate_versions.py", "--check"])
    before = generator.DOCUMENT.read_text()
    with pytest.raises(SystemExit, match=r"docs/versions\.md is out of date"):
        generator.main()
    assert generator.DOCUMENT.read_text() == before
