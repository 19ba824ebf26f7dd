"""The runner of the tests in each product and mode of the queue, and what a refusal may skip."""

import pytest

from support.refusals import reason_to_skip
from tests.modes import __main__ as modes

REPORT = """<testsuites><testsuite>
<testcase name="a"/><testcase name="b"><failure message="wrong"/></testcase><testcase name="c"><error message="no fixture"/></testcase>
<testcase name="d"><skipped message="a page"/></testcase><testcase name="e"><skipped message="a page"/></testcase>
</testsuite></testsuites>"""


def run(monkeypatch, tmp_path, passed, failed, skipped, *arguments):
    """Return the status of a run of one configuration that ends so; two tests were skipped by a page when it was recorded."""
    monkeypatch.setattr(modes, "SKIPPED", tmp_path / "skipped.tsv")
    modes.record({("Ascend910B3/0", "a page"): 2})
    monkeypatch.setattr(modes, "outcomes", lambda _: (modes.Counter(passed=passed, failed=failed), modes.Counter(skipped)))
    monkeypatch.setattr("sys.argv", ["modes", "Ascend910B3/0", *arguments])
    return modes.main()


def test_a_report_is_counted(tmp_path):
    path = tmp_path / "report.xml"
    path.write_text(REPORT)
    assert modes.read(path) == ({"passed": 1, "failed": 2}, {"a page": 2})


@pytest.mark.parametrize(
    ("passed", "failed", "skipped", "status"),
    [
        (9, 0, {"a page": 2}, 0), (9, 0, {"a page": 1}, 0), (9, 0, {"a page": 3}, 1), (9, 0, {"another": 1}, 1), (9, 1, {}, 1),
        (0, 0, {}, 1),
    ],
)  # fmt: skip
def test_failures_and_new_skips_are_not_taken(monkeypatch, tmp_path, passed, failed, skipped, status):
    assert run(monkeypatch, tmp_path, passed, failed, skipped) == status


def test_what_is_skipped_now_is_recorded(monkeypatch, tmp_path):
    assert run(monkeypatch, tmp_path, 9, 0, {"another": 1}, "--update") == 0
    assert modes.recorded() == {("Ascend910B3/0", "another"): 1}


def test_an_error_that_no_row_names_is_a_failure():
    assert reason_to_skip("aclnnAvgPool2dBackward: self: expected a shape") is None
    assert reason_to_skip("aclnnAvgPool2dBackward: product: expected A2, A3") is None
